/** The jobs of an application: which there are, and which provider runs each. */
import { ApplicationState, type Problem } from '../../index.js'
import { readJobs, type Class, type DeclaredJob } from './declared-job.js'

/** A job and the provider that has it. */
export interface KnownJob extends DeclaredJob {
  /** Calls the method. */
  readonly call: (...args: unknown[]) => unknown
}

export class Registry {
  static readonly inject = [ApplicationState]
  readonly #state: ApplicationState
  #jobs: ReadonlyMap<string, KnownJob> | undefined

  constructor(state: ApplicationState) {
    this.#state = state
  }

  /** By name. */
  get jobs(): ReadonlyMap<string, KnownJob> {
    this.#jobs ??= this.#read()
    return this.#jobs
  }

  /** @throws {TypeError} the class has no such job, or is no provider */
  find(owner: Class, method: string): KnownJob {
    for (const job of this.jobs.values())
      if (job.method === method && (job.owner === owner || owner.prototype instanceof job.owner))
        return job
    const known = [...this.jobs.keys()].join(', ') || 'none'
    throw new TypeError(
      `${owner.name}.${method} is no job: add @Job to the method, and ${owner.name} to the providers of a module. Jobs: ${known}.`,
    )
  }

  #read(): Map<string, KnownJob> {
    const jobs = new Map<string, KnownJob>()
    for (const provider of this.#state.providers) {
      if (typeof provider !== 'object' || provider === null) continue
      const ignored: Problem[] = []
      for (const job of readJobs([provider.constructor as Class], ignored)) {
        const named = this.#state.named(`the job ${job.name}`, (args: unknown[]): unknown => {
          const method: unknown = Reflect.get(provider, job.method)
          return Reflect.apply(method as () => unknown, provider, args)
        })
        const call = (...args: unknown[]): unknown => named(args)
        // Declared faults have stopped the start; an override may have a job of the same name.
        if (!jobs.has(job.name)) jobs.set(job.name, { ...job, call })
      }
    }
    return jobs
  }
}
