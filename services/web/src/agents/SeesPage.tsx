/** What the model sees before every conversation with an agent: the composed instructions, and its tools. */
import { api } from '../api/client';
import type { Instructions } from '../api/shapes';
import { agentPath } from '../router';
import { Link } from '../shell/Link';
import { Loaded, useLoad } from '../shell/load';
import { strings } from '../strings';

const words = strings.agents;

export function SeesPage({ id }: { id: string }) {
  const sees = useLoad(`sees/${id}`, async () => {
    const [agent, instructions] = await Promise.all([api.agent(id), api.instructions(id)]);
    return { agent, instructions };
  });
  return (
    <div className="scroller">
      <div className="page">
        <Loaded of={sees} onRetry={sees.reload} failed={words.seesFailed}>
          {({ agent, instructions }) => (
            <>
              <Link className="small" to={agentPath(id)}>
                {words.backTo(agent.name)}
              </Link>
              <p className="muted">{words.seesHint}</p>
              <p className="small muted">
                {[
                  instructions.model ?? words.defaultModel,
                  instructions.effort,
                  words.seesSize(instructions.characters),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </p>
              <Blocks instructions={instructions} />
              <Tools instructions={instructions} />
            </>
          )}
        </Loaded>
      </div>
    </div>
  );
}

function Blocks({ instructions }: { instructions: Instructions }) {
  return instructions.blocks.map((block) => (
    <section className="seen" key={block.name} aria-label={block.name}>
      <div className="seen-head">
        <h2>{block.name}</h2>
        <span className="small muted">{block.stable ? words.stable : words.changing}</span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className="seen-text" tabIndex={0}>
        {block.text}
      </pre>
    </section>
  ));
}

function Tools({ instructions }: { instructions: Instructions }) {
  return (
    <section className="page-section" aria-labelledby="seen-tools">
      <h2 id="seen-tools">{words.seesTools}</h2>
      {instructions.tools.length === 0 && <p className="muted">{words.seesNoTools}</p>}
      <ul className="rows">
        {instructions.tools.map((tool) => (
          <li className="seen" key={tool.name}>
            <div className="seen-head">
              <h3>
                <code>{tool.name}</code>
              </h3>
              <span className="small muted">{words.tiers[tool.tier] ?? tool.tier}</span>
            </div>
            <p className="small seen-description">{tool.description}</p>
            <details>
              <summary className="small">{words.schema}</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
              <pre className="seen-text" tabIndex={0}>
                {JSON.stringify(tool.schema, null, 2)}
              </pre>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
