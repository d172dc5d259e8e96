/** Compiles the call of a handler: `controller.show(request.pathValues[0], request.body)`, nothing looked up per request. */
import type { ServerRequest } from '../http/server-request.js'
import type { requestArguments, Route } from '../routing/route.js'

/** Calls the handler with its arguments taken from the request. Gives what the handler gives, promises too. */
export type Invoker = (request: ServerRequest) => unknown

/** Where each argument is read from. */
const sources: Readonly<Record<(typeof requestArguments)[number], string>> = {
  body: 'request.body',
  query: 'request.query',
  headers: 'request.headers',
  cookies: 'request.cookies',
  files: 'request.files',
  session: 'request.session',
  user: 'request.user',
  request: 'request',
}

/**
 * @param route its argument names are known: path parameters or names of `sources`
 * @param controller the instance whose method is called
 */
export function compileInvoker(route: Route, controller: object): Invoker {
  const values = route.argumentNames.map((name) => {
    const index = route.pattern.names.indexOf(name)
    return index === -1 ? sources[name as keyof typeof sources] : `request.pathValues[${index}]`
  })
  // Names come from the route's own source text; the member is quoted, so no text of it can become code.
  const call = `controller[${JSON.stringify(route.member)}](${values.join(', ')})`
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- compiled once at bootstrap, from checked names
  const build = new Function('controller', `return (request) => ${call}`) as (
    controller: object,
  ) => Invoker
  return build(controller)
}
