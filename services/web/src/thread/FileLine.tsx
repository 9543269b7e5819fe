/** A file that belongs to a message: its name and size, and a way to save it if this server keeps it. */
import type { FileUIPart } from 'ai';
import { Paper } from '../shell/icons';
import { strings } from '../strings';
import { ownPath } from './addresses';

const words = strings.files;

export function FileLine({ file }: { file: FileUIPart }) {
  const path = file.url.startsWith('data:') ? undefined : ownPath(file.url);
  const name = file.filename || words.unnamed;
  const size = sizeOf(file);
  const about = (
    <>
      <Paper />
      <span className="line-words">{name}</span>
      <span className="muted">{size === undefined ? file.mediaType : words.about(file.mediaType, size)}</span>
    </>
  );
  if (!path) return <div className="file">{about}</div>;
  return (
    <a className="file" href={path} download={name}>
      {about}
      <span className="visually-hidden">{words.save}</span>
    </a>
  );
}

/** In bytes; the server says it beside the file, and a file that travels in the message can be measured. */
function sizeOf(file: FileUIPart): number | undefined {
  const said = (file.providerMetadata?.retinue as { size?: unknown } | undefined)?.size;
  if (typeof said === 'number') return said;
  const data = /^data:[^,]*;base64,(.*)$/s.exec(file.url)?.[1];
  return data === undefined ? undefined : Math.floor((data.replace(/=+$/, '').length * 3) / 4);
}
