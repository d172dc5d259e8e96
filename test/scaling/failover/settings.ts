/** The options of `npm run failover`. */

export interface Settings {
  /** Switchovers, and as many kills. */
  readonly rounds: number
  readonly keys: number
  /** Keys a second, of all clients together. */
  readonly keyRate: number
  readonly keyClients: number
}

const defaults: Readonly<
  Record<keyof Settings, { readonly value: number; readonly about: string }>
> = {
  rounds: { value: 3, about: 'switchovers, and as many kills of the primary' },
  keys: { value: 10_000, about: 'writes with an Idempotency-Key, over all failovers' },
  keyRate: { value: 80, about: 'of these writes a second' },
  keyClients: { value: 32, about: 'clients that send them' },
}

/** @returns the settings, or the help or an error message as text */
export function readSettings(
  args: readonly string[],
): Settings | { readonly text: string; readonly failed: boolean } {
  if (args.includes('--help')) return { text: help(), failed: false }
  const settings: Record<string, number> = Object.fromEntries(
    Object.entries(defaults).map(([name, { value }]) => [name, value]),
  )
  for (let index = 0; index < args.length; index += 2) {
    const arg = args[index] ?? ''
    const name = arg.slice(2)
    const value = Number(args[index + 1] ?? NaN)
    if (!arg.startsWith('--') || !Object.hasOwn(defaults, name))
      return { text: `Unknown option "${arg}".\n\n${help()}`, failed: true }
    if (!Number.isInteger(value) || value < 1)
      return { text: `--${name} needs a whole number of 1 or more.`, failed: true }
    settings[name] = value
  }
  return settings as unknown as Settings
}

function help(): string {
  const options = Object.entries(defaults).map(
    ([name, { value, about }]) => `  --${name.padEnd(12)} ${about} (${value})`,
  )
  return [
    'npm run failover -- [--option value]…',
    '',
    'Starts etcd, three PostgreSQL servers with Patroni, and haproxy on this machine. Two processes of',
    'an application write through haproxy, one of them reads from the replicas. Meanwhile the primary',
    'is switched over and killed in turn. The run takes about six minutes and prints what was lost,',
    'what was written twice, and how soon the service was back. It ends with 1 if a limit is exceeded.',
    '',
    ...options,
  ].join('\n')
}
