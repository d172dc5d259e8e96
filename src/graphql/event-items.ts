/** Results as events. Source: GraphQL over Server-Sent Events, "Distinct connections mode". */
import type { EventItem } from '../http/events.js'
import type { EntryOptions } from './error-entries.js'
import type { Outcome } from './outcome.js'
import { mapIterator } from './map-iterator.js'
import { toResultText } from './result.js'

const complete: EventItem = Object.freeze({ event: 'complete', data: '' })

/** `next` for each result, then `complete`. Without anything that ran an event has `errors` alone. */
export function toEventItems(
  outcomes: AsyncIterableIterator<Outcome> | readonly [Outcome],
  options: EntryOptions,
): AsyncIterable<EventItem> | readonly EventItem[] {
  const toItem = (outcome: Outcome): EventItem => ({
    event: 'next',
    data: toResultText(outcome, options, false),
  })
  if (Symbol.asyncIterator in outcomes) return mapIterator(outcomes, toItem, [complete])
  return [toItem(outcomes[0]), complete]
}
