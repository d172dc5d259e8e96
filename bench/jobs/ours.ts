/**
 * Filigree's jobs, on SQLite or PostgreSQL: `tsx --tsconfig test/tsconfig.json bench/jobs/ours.ts <address> [jobs]` at the
 * root. An address: `sqlite:/tmp/jobs.db`, `postgres://…`.
 */
import { bootstrap, Database, Module } from '../../src/index.js'
import { Job, Jobs, jobs, type JobsHome } from '../../src/modules/jobs/jobs.js'
import { measure } from './measure.mjs'

const [, , address, size = '5000'] = process.argv
if (address === undefined) throw new Error('Give an address: sqlite:/tmp/jobs.db.')

let ran: () => void = () => undefined

class Work {
  @Job({ timeout: '1h' }) empty(): void {
    ran()
  }
}

@Module({ providers: [Work], imports: [jobs()] })
class App {}

const bodies = Array.from({ length: 1000 }, () => undefined as never)
const start = () => bootstrap(App, { listen: false, logger: false, env: {}, database: address })

const app = await start()
/** The channel of the application that works. It hears immediately of jobs that are added there. */
let queue = app.get(Jobs)

await measure(
  {
    add: () => queue.add(Work, 'empty'),
    addThousand: () => queue.addMany(Work, 'empty', bodies),
    clear: () => app.get(Database).kysely.deleteFrom('jobs').execute(),
    work: async (concurrency: number, run: () => void) => {
      ran = run
      const working = await start()
      await working.get<JobsHome>('filigree.jobs').worker.start({ concurrency })
      queue = working.get(Jobs)
      return () => {
        queue = app.get(Jobs)
        return working.close()
      }
    },
    close: () => app.close(),
  },
  Number(size),
)
process.exit(0)
