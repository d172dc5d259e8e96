/** The browser client's `formToken`. */
import type { ServerRequest } from '../server-request.js'

/**
 * Removes the browser client's `formToken` from a body, before validation and the handler see it. A token that is not a
 * text is removed and ignored. Source: specification, Browser client.
 */
export function takeFormToken(request: ServerRequest): void {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  if (!Object.hasOwn(body, 'formToken')) return
  const holder = body as { formToken?: unknown }
  if (typeof holder.formToken === 'string') request.formToken = holder.formToken
  delete holder.formToken
}
