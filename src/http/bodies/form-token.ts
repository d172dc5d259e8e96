/** Takes the browser client's `formToken` out of a body, before validation and the handler see it. Source: specification, Browser client. */
import type { ServerRequest } from '../server-request.js'

/** Ignores lists, text and bytes. A token that is not a text is removed and counts as none. */
export function takeFormToken(request: ServerRequest): void {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  if (!Object.hasOwn(body, 'formToken')) return
  const holder = body as { formToken?: unknown }
  if (typeof holder.formToken === 'string') request.formToken = holder.formToken
  delete holder.formToken
}
