/** Server-sent events out of bytes that may be cut anywhere: only whole events come out, comments are skipped. */

export interface SseEvent {
  data: string;
  id: string | undefined;
}

export class SseParser {
  // `ignoreBOM: false` drops a leading byte-order mark; `stream: true` below keeps a split character for the next push.
  private readonly decoder = new TextDecoder('utf-8');
  private rest = '';
  private data: string[] = [];
  private id: string | undefined;

  /** Takes the next bytes of the body and returns the events that are complete with them. */
  push(bytes: Uint8Array): SseEvent[] {
    this.rest += this.decoder.decode(bytes, { stream: true });
    const events: SseEvent[] = [];
    for (;;) {
      const line = this.takeLine();
      if (line === undefined) return events;
      const event = this.readLine(line);
      if (event) events.push(event);
    }
  }

  private takeLine(): string | undefined {
    const end = this.rest.search(/[\r\n]/);
    if (end < 0) return undefined;
    const isReturn = this.rest[end] === '\r';
    // A carriage return at the very end may be half of "\r\n": wait for the next byte.
    if (isReturn && end === this.rest.length - 1) return undefined;
    const line = this.rest.slice(0, end);
    this.rest = this.rest.slice(end + (isReturn && this.rest[end + 1] === '\n' ? 2 : 1));
    return line;
  }

  private readLine(line: string): SseEvent | undefined {
    if (line === '') return this.dispatch();
    if (line.startsWith(':')) return undefined;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'id') this.id = value;
    return undefined;
  }

  private dispatch(): SseEvent | undefined {
    const event = this.data.length > 0 ? { data: this.data.join('\n'), id: this.id } : undefined;
    this.data = [];
    this.id = undefined;
    return event;
  }
}
