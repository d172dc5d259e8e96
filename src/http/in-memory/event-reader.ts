/** Reads responses of event streams back as events. */
import type { Readable } from 'node:stream'
import type { HeaderList } from '../header-list.js'

/** True if the response is an event stream. */
export function isEventStream(headers: HeaderList): boolean {
  return headers.first('Content-Type')?.startsWith('text/event-stream') === true
}

export interface StreamEvent {
  /** Empty if the event has no name. */
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** Parses the events that `toEventText` has written. Heartbeats are skipped. */
export async function* readEvents(body: Readable): AsyncGenerator<StreamEvent, void, undefined> {
  let rest = ''
  for await (const chunk of body.setEncoding('utf8')) {
    rest += chunk as string
    // A long line arrives in many chunks. Search only new chunks for the line end.
    if (!(chunk as string).includes('\n')) continue
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = readBlock(block)
      if (event.data !== '' || event.event !== '') yield event
    }
  }
}

function readBlock(block: string): StreamEvent {
  let event = ''
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7)
    else if (line.startsWith('data: ')) data.push(line.slice(6))
    else if (line.startsWith('id: ')) id = line.slice(4)
  }
  return { event, data: data.join('\n'), id }
}
