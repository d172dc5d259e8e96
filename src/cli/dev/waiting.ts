/**
 * The work that an application has stored for later, as its providers list it, and the handles of the process. A provider
 * lists its work so: `[pendingWork]() { return [{ name: 'Mail.welcome', state: 'waiting', at: … }] }`.
 */
import { pendingWork } from '../../core/provider-symbols.js'
import type { Redactor } from './redact.js'

export interface Waiting {
  /** The provider's name. */
  readonly of: string
  readonly entries: readonly unknown[]
}

const patience = 2000

export async function listWaiting(
  instances: readonly (readonly [name: string, instance: unknown])[],
  redactor: Redactor,
): Promise<{ providers: readonly Waiting[]; process: Readonly<Record<string, number>> }> {
  const asked = instances.flatMap(([of, instance]) => {
    const waiting = (instance as { [pendingWork]?: unknown } | null | undefined)?.[pendingWork]
    if (typeof waiting !== 'function') return []
    return [askFor(redactor, of, () => Reflect.apply(waiting, instance, []) as unknown)]
  })
  const handles: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1
  return { providers: await Promise.all(asked), process: handles }
}

async function askFor(redactor: Redactor, of: string, ask: () => unknown): Promise<Waiting> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<unknown>((resolve) => {
    timer = setTimeout(resolve, patience, [{ name: 'It does not answer.' }])
  })
  try {
    const entries = await Promise.race([Promise.resolve().then(ask), late])
    const list: unknown[] = Array.isArray(entries) ? entries : [entries]
    return { of, entries: list.map((entry) => redactor.value(entry)) }
  } catch (error) {
    return { of, entries: [{ name: redactor.text(`It failed: ${String(error)}`) }] }
  } finally {
    clearTimeout(timer)
  }
}
