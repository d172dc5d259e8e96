/**
 * The work that an application has stored for later, as its providers list it, and the handles of the process. A provider
 * lists its work so: `[pendingWork]() { return [{ name: 'Mail.welcome', state: 'waiting', at: … }] }`.
 */

import type { Seen, Redactor } from './redactor.js'
import { pendingWork } from '../../core/provider-symbols.js'

/** What the development page knows of work for later: jobs with their faults, and mail that was caught. */

/** A job as it is shown: without its body. */
interface ShownJob {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly attempt: number
  /** How often it may run again. */
  readonly retries: number
  readonly runAt: string
  readonly schedule: string | null
  readonly progress: string | null
  /** Its last fault. */
  readonly error: string | null
}

interface ShownJobs {
  /** How many there are of each state. */
  readonly counts: Readonly<Record<string, number>>
  /** The newest first. */
  readonly jobs: readonly ShownJob[]
}

/** `Jobs` of `filigree/jobs`, which stands above this folder. */
interface JobsFace {
  list(options: { readonly state?: string; readonly limit: number }): Promise<readonly Entry[]>
  counts(): Promise<Readonly<Record<string, number>>>
  retry(id: number): Promise<boolean>
  cancel(id: number): Promise<boolean>
}

interface Entry {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly attempt: number
  readonly retries: number
  readonly runAt: string
  readonly schedule: string | null
  readonly progress: number | null
  readonly progressText: string | null
  readonly error: string | null
  readonly body: unknown
}

const mostJobs = 200

export class Late {
  readonly #instances: ReadonlyMap<string, unknown>
  readonly #redactor: Redactor

  constructor(instances: Iterable<readonly [name: string, instance: unknown]>, redactor: Redactor) {
    this.#instances = new Map(instances)
    this.#redactor = redactor
  }

  /** @returns null where the application has no jobs */
  async jobs(state?: string): Promise<ShownJobs | null> {
    const face = this.#face
    if (face === undefined) return null
    const options = { limit: mostJobs, ...(state === undefined ? {} : { state }) }
    const [counts, entries] = await Promise.all([face.counts(), face.list(options)])
    return { counts, jobs: entries.map((entry) => this.#show(entry)) }
  }

  async retry(id: number): Promise<{ readonly done: boolean } | null> {
    const face = this.#face
    return face === undefined ? null : { done: await face.retry(id) }
  }

  async cancel(id: number): Promise<{ readonly done: boolean } | null> {
    const face = this.#face
    return face === undefined ? null : { done: await face.cancel(id) }
  }

  /** @returns mail that was caught, the last one first; null where the application sends none */
  mail(): unknown {
    const home = this.#instances.get('filigree.mail') as { caught?: readonly object[] } | undefined
    if (home?.caught === undefined) return null
    return home.caught
      .slice(-mostJobs)
      .reverse()
      .map((mail) => this.#redactor.value(mail, this.#redactor.recent))
  }

  get #face(): JobsFace | undefined {
    const face = this.#instances.get('Jobs') as Partial<JobsFace> | undefined
    return typeof face?.counts === 'function' ? (face as JobsFace) : undefined
  }

  #show(entry: Entry): ShownJob {
    const { id, name, state, attempt, retries, runAt, schedule } = entry
    // A fault may name what the job was given.
    const seen: Seen = new Set(this.#redactor.recent)
    this.#redactor.value(entry.body, seen)
    const show = (text: string): string => this.#redactor.text(text, seen)
    const share = entry.progress === null ? [] : [`${Math.round(entry.progress * 100)} %`]
    const said = [...share, ...(entry.progressText === null ? [] : [show(entry.progressText)])]
    return {
      ...{ id, name, state, attempt, retries, runAt, schedule },
      progress: said.length === 0 ? null : said.join(' '),
      error: entry.error === null ? null : show(entry.error),
    }
  }
}

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
