/**
 * Pending work of an application, as its providers list it, and the handles of the process. A provider lists its work with
 * a method: `[pendingWork]() { return [{ name: 'Mail.welcome', state: 'waiting', at: … }] }`.
 */

import type { Secrets, Redactor } from '../../serving/redaction/redactor.js'
import { pendingWork } from '../../core/provider-symbols.js'

/** A job as the page shows it, without its body. */
interface PageJob {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly attempt: number
  /** Number of times that it can run again. */
  readonly retries: number
  readonly runAt: string
  readonly schedule: string | null
  readonly progress: string | null
  /** The error of its last run. */
  readonly error: string | null
}

interface PageJobs {
  /** Number of jobs by state. */
  readonly counts: Readonly<Record<string, number>>
  /** The newest first. */
  readonly jobs: readonly PageJob[]
}

/** The part of the provider `Jobs` that is used. This folder cannot import `filigree/jobs`. */
interface JobsProvider {
  list(options: { readonly state?: string; readonly limit: number }): Promise<readonly JobEntry[]>
  counts(): Promise<Readonly<Record<string, number>>>
  retry(id: number): Promise<boolean>
  cancel(id: number): Promise<boolean>
}

interface JobEntry {
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

const maxEntries = 200

export class JobsAndMail {
  readonly #instances: ReadonlyMap<string, unknown>
  readonly #redactor: Redactor

  constructor(instances: Iterable<readonly [name: string, instance: unknown]>, redactor: Redactor) {
    this.#instances = new Map(instances)
    this.#redactor = redactor
  }

  /** @returns null if the application has no jobs */
  async jobs(state?: string): Promise<PageJobs | null> {
    const provider = this.#provider
    if (provider === undefined) return null
    const options = { limit: maxEntries, ...(state === undefined ? {} : { state }) }
    const [counts, entries] = await Promise.all([provider.counts(), provider.list(options)])
    return { counts, jobs: entries.map((entry) => this.#show(entry)) }
  }

  async retry(id: number): Promise<{ readonly done: boolean } | null> {
    const provider = this.#provider
    return provider === undefined ? null : { done: await provider.retry(id) }
  }

  async cancel(id: number): Promise<{ readonly done: boolean } | null> {
    const provider = this.#provider
    return provider === undefined ? null : { done: await provider.cancel(id) }
  }

  /** @returns mail that was not sent in development, the latest first. Null if the application sends no mail */
  mail(): unknown {
    const mailProvider = this.#instances.get('filigree.mail') as
      { caught?: readonly object[] } | undefined
    if (mailProvider?.caught === undefined) return null
    return mailProvider.caught
      .slice(-maxEntries)
      .reverse()
      .map((mail) => this.#redactor.value(mail, this.#redactor.recent))
  }

  get #provider(): JobsProvider | undefined {
    const provider = this.#instances.get('Jobs') as Partial<JobsProvider> | undefined
    return typeof provider?.counts === 'function' ? (provider as JobsProvider) : undefined
  }

  #show(entry: JobEntry): PageJob {
    const { id, name, state, attempt, retries, runAt, schedule } = entry
    // An error can contain values of the job's body.
    const secrets: Secrets = new Set(this.#redactor.recent)
    this.#redactor.value(entry.body, secrets)
    const show = (text: string): string => this.#redactor.text(text, secrets)
    const share = entry.progress === null ? [] : [`${Math.round(entry.progress * 100)} %`]
    const progress = [...share, ...(entry.progressText === null ? [] : [show(entry.progressText)])]
    return {
      id,
      name,
      state,
      attempt,
      retries,
      runAt,
      schedule,
      progress: progress.length === 0 ? null : progress.join(' '),
      error: entry.error === null ? null : show(entry.error),
    }
  }
}

interface ProviderWork {
  /** The provider's name. */
  readonly of: string
  readonly entries: readonly unknown[]
}

const timeoutMs = 2000

export async function listPendingWork(
  instances: readonly (readonly [name: string, instance: unknown])[],
  redactor: Redactor,
): Promise<{ providers: readonly ProviderWork[]; process: Readonly<Record<string, number>> }> {
  const lists = instances.flatMap(([of, instance]) => {
    const waiting = (instance as { [pendingWork]?: unknown } | null | undefined)?.[pendingWork]
    if (typeof waiting !== 'function') return []
    return [listEntries(redactor, of, () => Reflect.apply(waiting, instance, []) as unknown)]
  })
  const handles: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1
  return { providers: await Promise.all(lists), process: handles }
}

async function listEntries(
  redactor: Redactor,
  of: string,
  list: () => unknown,
): Promise<ProviderWork> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<unknown>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, [{ name: 'It does not respond.' }])
  })
  try {
    const entries = await Promise.race([Promise.resolve().then(list), timeout])
    const all: unknown[] = Array.isArray(entries) ? entries : [entries]
    return { of, entries: all.map((entry) => redactor.value(entry)) }
  } catch (error) {
    return { of, entries: [{ name: redactor.text(`It failed: ${String(error)}`) }] }
  } finally {
    clearTimeout(timer)
  }
}
