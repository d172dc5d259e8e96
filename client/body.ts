/**
 * Makes a request's body from the caller's value. Source: specification, Authentication 6; decisions, Browser client.
 */

/** The options for `fetch`, with headers as a mapping and a body that is not yet encoded. */
export interface Draft extends Omit<RequestInit, 'body' | 'headers'> {
  headers: Record<string, string>
  body?: unknown
}

/** A copy as JSON would transport it. */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/**
 * Whether the value is sent as JSON: an object, a list, a number or a boolean, not a form, a Blob or bytes.
 *
 * Checked by tag, not instanceof: a form of another realm (an iframe) is a form too.
 */
export const isJson = (value: unknown): boolean =>
  / (Ob|Num|Bo|Array])/.test({}.toString.call(value))

/**
 * Encodes the draft's body and sets or removes its `Content-Type`, both in place; the caller's value is not changed.
 *
 * @param token added to objects, forms and empty bodies as `formToken`, unless the caller has set one. Such a request
 * does not follow redirects, which could send the token to another origin.
 */
export const encodeBody = (draft: Draft, token: string | false | undefined): void => {
  const { headers, body } = draft
  if (draft.method == 'GET') delete headers['Content-Type']
  else if (
    isJson(body) ||
    // Node's Buffer has it too, and is bytes.
    ((body as Date | undefined)?.toJSON && (body as { buffer?: unknown }).buffer == null) ||
    (token && body == null)
  ) {
    headers['Content-Type'] ??= 'application/json'
    draft.body = JSON.stringify(body ?? {})
    // Of all JSON texts only those of objects sort after `{`.
    if (token && (draft.body as string) > '{') {
      draft.body = JSON.stringify({ formToken: token, ...(body as object) })
      draft.redirect ??= 'error'
    }
  } else if ((body as FormData | undefined)?.append) {
    // Only the platform knows the boundary that it will use.
    if (!/boundary=/i.test(headers['Content-Type'] as string)) delete headers['Content-Type']
    if (token) {
      const form = body as FormData
      const copy = (draft.body = new (form.constructor as typeof FormData)())
      // Added first, because a server may decide about a multipart body before its first file.
      if (!form.has('formToken')) copy.append('formToken', token)
      form.forEach((value, name) => {
        copy.append(name, value as Blob)
      })
      draft.redirect ??= 'error'
    }
  }
}
