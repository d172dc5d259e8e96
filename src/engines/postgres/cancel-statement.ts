/** Asks PostgreSQL to cancel what a connection runs. Source: PostgreSQL, Canceling Requests in Progress. */
import type { Client } from './driver.js'

/** pg's low-level connection, which is needed to send the request. */
export type CancelConnection = new (options: { readonly ssl: unknown }) => BareConnection

interface BareConnection {
  connect(portOrSocket: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
  once(event: 'connect' | 'sslconnect', listener: () => void): unknown
  on(event: 'error', listener: () => void): unknown
}

/** Sent without waiting. The server may ignore it, because the statement has not begun: send it again while that runs. */
export function cancelStatement(client: Client, Connection: CancelConnection): void {
  const { processID, secretKey, host, port, ssl } = client
  if (processID === null || typeof secretKey !== 'number' || typeof host !== 'string') return
  const connection = new Connection({ ssl })
  const cancel = (): void => {
    connection.cancel(processID, secretKey)
  }
  connection.on('error', () => undefined)
  connection.once('connect', () => {
    if (ssl === undefined || ssl === null || ssl === false) cancel()
    else connection.requestSsl()
  })
  connection.once('sslconnect', cancel)
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port ?? 5432}`)
  else connection.connect(port ?? 5432, host)
}
