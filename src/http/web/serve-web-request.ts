/** Serves web-standard requests through the pipeline of the server. Source: Fetch standard. */
import type { Incoming, Outgoing } from '../node-messages.js'
import { WebIncoming } from './web-request.js'
import { handledForm, WebOutgoing } from './web-response.js'

const ownSocket: Incoming['socket'] = { remoteAddress: '127.0.0.1', encrypted: false }
const encryptedSocket: Incoming['socket'] = { ...ownSocket, encrypted: true }

/**
 * Serves a request without a server.
 *
 * @returns the response, whose body streams. Rejects only if the connection was cut off before the response began
 */
export function handleWebRequest(
  serve: (incoming: Incoming, outgoing: Outgoing) => void,
  request: Request,
): Response | Promise<Response> {
  const isEncrypted = request.url.startsWith('https:')
  const incoming = new WebIncoming(request, isEncrypted ? encryptedSocket : ownSocket)
  const outgoing = new WebOutgoing(request, incoming, handledForm)
  if (request.signal.aborted) outgoing.destroy()
  else serve(incoming, outgoing)
  const { response } = outgoing
  if (response !== undefined) return response
  outgoing.followClient()
  return new Promise((resolve, reject) => {
    outgoing.onBegin((error) => {
      if (outgoing.response === undefined) reject(error ?? new Error('There is no response.'))
      else resolve(outgoing.response)
    })
  })
}
