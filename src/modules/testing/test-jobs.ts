/** The jobs of a tested application: none runs by itself. */

/** What the module of jobs has for tests. */
interface JobsRuntime {
  readonly jobs: {
    list(options: ListOptions): Promise<(AddedEntry & { readonly secretBody: unknown })[]>
  }
  readonly registry: { find(owner: JobClass, method: string): { readonly name: string } }
  readonly worker: { readonly isDraining: boolean; drain(): Promise<number> }
  readonly notifier: { runInline: (() => Promise<unknown>) | undefined }
}

interface ListOptions {
  readonly name: string
  readonly limit: number
  readonly after?: number
}

/** A class with jobs. */
type JobClass<T = object> = abstract new (...args: never[]) => T

/** A job that was added. */
export interface AddedEntry {
  readonly id: number
  readonly name: string
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'
  // Only the test knows what it has added.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
  readonly priority: number
  /** When it was or is to be run, at the earliest. */
  readonly runAt: string
  readonly attempt: number
  readonly error: string | null
  readonly uniqueKey: string | null
}

const page = 1000

export class TestJobs {
  readonly #runtime: () => JobsRuntime

  /** Use `desk.jobs`. */
  constructor(get: (token: string) => unknown) {
    this.#runtime = () => get('filigree.jobs') as JobsRuntime
  }

  /** Runs all that is due now, by the clock of the test, and what that adds. @returns how many runs there were */
  run(): Promise<number> {
    return this.#runtime().worker.drain()
  }

  /** The jobs of a method that were added since the last reset, in order; those that have run, too. */
  async added<T extends object>(
    type: JobClass<T>,
    method: keyof T & string,
  ): Promise<AddedEntry[]> {
    const { registry, jobs } = this.#runtime()
    const { name } = registry.find(type, method)
    const all: AddedEntry[] = []
    for (;;) {
      const last = all.at(-1)
      const after = last === undefined ? {} : { after: last.id }
      const some = await jobs.list({ name, limit: page, ...after })
      // Those of secret jobs are there for the program.
      all.push(...some.map((one) => ({ ...one, body: (one.body ?? one.secretBody) as unknown })))
      if (some.length < page) return all.reverse()
    }
  }

  /**
   * True: what is added runs at once, before the code that has added it goes on; in a transaction right after the commit.
   * Default false.
   */
  get inline(): boolean {
    return this.#runtime().notifier.runInline !== undefined
  }

  set inline(isInline: boolean) {
    const { notifier, worker } = this.#runtime()
    notifier.runInline = isInline ? async () => (worker.isDraining ? 0 : worker.drain()) : undefined
  }
}
