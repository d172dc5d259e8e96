/** Reads a response by its content type. Source: specification, "Browser fetch client" 5; decisions, Browser client. */
import type { ApiResponse } from './options.js'

/**
 * JSON is parsed. `text/*` and responses without a type are a string, other types a Blob, and an empty body null.
 *
 * For malformed JSON the data is the raw text, and `ok` is false for every status.
 */
export const readResponse = async (response: Response): Promise<ApiResponse> => {
  // eslint-disable-next-line prefer-const -- one statement is five bytes less.
  let { status, ok, headers } = response
  // A missing header is null, which `test` reads as "null".
  const type = headers.get('Content-Type') as string
  const isJson = /^[^;]*[/+]json *(;|$)/i.test(type)
  let data: unknown = await (isJson || /^(text|null|$)/i.test(type)
    ? response.text()
    : response.blob())
  // Of text only the empty one is false.
  if (!((data as { size?: number }).size ?? data)) data = null
  try {
    if (isJson) data = JSON.parse(data as string)
  } catch {
    ok = false
  }
  return { status, data, ok, headers }
}
