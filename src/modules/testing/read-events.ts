/** Reads an event stream. Source: WHATWG HTML, "Server-sent events", §9.2.6. */

/** An event as it came. */
export interface TestEvent {
  /** `message` if the server sets none. */
  readonly event: string
  /** Parsed if it is JSON, else text. */
  // Only the test knows what a stream sends.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
  /** The last id that was sent, `''` if there was none. */
  readonly id: string
}

/** @yields the events; leaving the loop ends the stream */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<TestEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let id = ''
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const fields = readFields(rest.slice(0, end))
      rest = rest.slice(end + 2)
      id = fields.get('id') ?? id
      const data = fields.get('data')
      if (data !== undefined) {
        yield { event: fields.get('event') ?? 'message', data: parsed(data), id }
      }
    }
  }
}

function readFields(block: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const middle = line.indexOf(':')
    // A comment.
    if (middle === 0) continue
    const name = middle === -1 ? line : line.slice(0, middle)
    const value = middle === -1 ? '' : line.slice(middle + 1).replace(/^ /, '')
    const before = name === 'data' ? fields.get(name) : undefined
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return fields
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
