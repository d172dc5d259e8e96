/** Merges headers. Source: specification, "Browser fetch client" 2; decisions, Browser client. */
import type { HeaderValues } from './options.js'

/**
 * Merges several layers of headers; the last value of a name wins, whatever its case.
 *
 * A name keeps its first spelling, but `Authorization` and `Content-Type` are always spelled so.
 */
export const mergeHeaders = (
  ...layers: (HeaderValues | '' | false | undefined)[]
): Record<string, string> => {
  const names: Record<string, string> = {
    authorization: 'Authorization',
    'content-type': 'Content-Type',
  }
  const merged: Record<string, string> = {}
  for (const layer of layers as HeaderValues[]) {
    for (const name in layer) {
      if (layer[name] != null) merged[(names[name.toLowerCase()] ??= name)] = layer[name]
    }
  }
  return merged
}
