/**
 * Opens connections to the first server of an address that accepts them and is of the requested kind. Source: PostgreSQL,
 * libpq, Specifying Multiple Hosts and target_session_attrs.
 */
import type { Client, Driver } from './driver.js'
import type { PostgresOptions, SessionKind } from './options.js'

/** Whether the server is of the kind, as SQL. */
const conditions: Readonly<Record<SessionKind, string | undefined>> = {
  any: undefined,
  'read-write': "current_setting('transaction_read_only') = 'off'",
  'read-only': "current_setting('transaction_read_only') = 'on'",
  primary: 'not pg_is_in_recovery()',
  standby: 'pg_is_in_recovery()',
}

/** The query for whether a server is of the kind; `undefined` if every server is. Its column is `matches`. */
export function kindQuery({ sessionKind = 'any' }: PostgresOptions): string | undefined {
  const condition = conditions[sessionKind]
  return condition === undefined ? undefined : `select ${condition} as matches`
}

/** The message for a server of another kind. It contains `connection`, as errors of connections do. */
export function otherKind({ sessionKind = 'any' }: PostgresOptions): string {
  return `the server is not ${sessionKind}, which target_session_attrs requires for a connection`
}

/** The index of the host that accepted the last connection, because a host that is down takes the whole timeout. */
const lastHosts = new WeakMap<PostgresOptions, number>()

/**
 * @param urls an address for each host
 * @param settings options of pg's clients, except the address
 * @throws the error of the last host
 */
export async function openClient(
  driver: Driver,
  options: PostgresOptions,
  urls: readonly string[],
  settings: object,
): Promise<Client> {
  const first = lastHosts.get(options) ?? 0
  for (let tried = 1; ; tried++) {
    const index = (first + tried - 1) % urls.length
    try {
      const client = await openAt(urls[index] ?? '', driver, options, settings)
      lastHosts.set(options, index)
      return client
    } catch (error) {
      if (tried === urls.length) throw error
    }
  }
}

async function openAt(
  url: string,
  driver: Driver,
  options: PostgresOptions,
  settings: object,
): Promise<Client> {
  const client = new driver.Client({ ...settings, connectionString: url })
  // After an error the connection ends.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const text = kindQuery(options)
    if (text === undefined) return client
    const { rows } = await client.query({ text, values: [], rowMode: 'array' })
    if (rows[0]?.[0] !== true) throw new Error(otherKind(options))
    return client
  } catch (error) {
    client.end().catch(() => undefined)
    throw error
  }
}
