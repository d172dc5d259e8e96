/** Attacks on other clients by a CSV file that an administrator imports. */
import { Worker } from 'node:worker_threads'
import { admin } from 'filigree/admin'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  type Application,
} from 'filigree'
import type { Attack } from './attack.js'

@Record
class Part {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string', { optional: true }) note?: string
}

class Credentials {
  @Field('string') name!: string
}

@Controller('/')
class Desk {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Get('/plain')
  plain(): object {
    return { ok: true }
  }

  @Post('/login', { body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<unknown> {
    if (body.name !== 'admin') throw new HttpError(403)
    return reply({}).freshToken(await this.auth.getToken({ sub: '1', roles: ['admin'] }))
  }
}

@Module({
  controllers: [Desk],
  records: [Part],
  imports: [admin({ path: '/admin', roles: 'admin', records: [Part], login: { path: '/login' } })],
})
class DeskModule {}

interface Victim {
  /** The duration of the victim's slowest request in milliseconds. */
  readonly longest: number
  readonly status: number
}

/** Posts a file to the admin page while another client sends one request after another. */
async function withVictim(file: string, sendRequest: (app: Application) => Promise<unknown>) {
  const app = await bootstrap(DeskModule, {
    ...{ port: 0, logger: false, database: 'sqlite::memory:' },
    env: { NODE_ENV: 'test' },
  })
  try {
    const token = await app.get(Auth).getToken({ sub: '1', roles: ['admin'] })
    // The first requests of a process load and compile what they run through.
    for (let count = 0; count < 20; count++) await sendRequest(app)
    const attackState = { isOver: false }
    const attack = postFromThread(`${app.url}/admin/api/csv/parts?check=true`, token, file).finally(
      () => {
        attackState.isOver = true
      },
    )
    let longest = 0
    do {
      const start = performance.now()
      await sendRequest(app)
      longest = Math.max(longest, performance.now() - start)
    } while (!attackState.isOver)
    return { longest, status: await attack } satisfies Victim
  } finally {
    await app.close()
  }
}

/** Sends the file from another thread: preparing 16 MB there does not delay the event loop of the server. */
function postFromThread(url: string, token: string, file: string): Promise<number> {
  const program = `
    const { parentPort, workerData: { url, token, file } } = require('node:worker_threads')
    const headers = { 'content-type': 'text/csv', authorization: 'Bearer ' + token }
    fetch(url, { method: 'POST', headers, body: file }).then(async (response) => {
      await response.text()
      parentPort.postMessage(response.status)
    })`
  const worker = new Worker(program, { eval: true, workerData: { url, token, file } })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  }).finally(() => worker.terminate()) as Promise<number>
}

const plain = async (app: Application): Promise<void> => {
  await (await fetch(`${app.url}/plain`)).text()
}

function csvAttack(name: string, before: string, file: () => string): Attack {
  return {
    ...{ name: `CSV: ${name}`, before, measures: true },
    run: async () => {
      const { longest, status } = await withVictim(file(), plain)
      const now = `${status}; another client's GET took at most ${longest.toFixed(0)} ms`
      return { now, isBlocked: longest < 100 }
    },
  }
}

const names = (count: number): string =>
  `name\n${Array.from({ length: count }, (_, index) => `part ${index}`).join('\n')}\n`

export const attacks: readonly Attack[] = [
  csvAttack('16 MB of quotes', 'all others waited 1.0 to 2.6 s', () => {
    return `name\n"${'""'.repeat(7_900_000)}"\n`
  }),
  csvAttack('16 MB of commas', 'not tried', () => `name\n${','.repeat(15_900_000)}\n`),
  csvAttack('15 rows of 1 MiB in quotes', 'not tried', () => {
    return `name\n${`"${'""'.repeat(520_000)}"\n`.repeat(15)}`
  }),
  csvAttack('16 MB of empty lines', 'not tried', () => `name\n${'\n'.repeat(15_900_000)}`),
  {
    name: 'CSV: another client writes while 20,000 rows are checked',
    before: '503 after 5 s: the check held the write lock for 7 s',
    measures: true,
    run: async () => {
      let count = 0
      const { longest, status } = await withVictim(names(20_000), async (app) => {
        await app
          .get(Database)
          .records(Part)
          .create({ name: `own ${count++}` })
        // The attacker's request arrives over the network too.
        await new Promise((resolve) => setImmediate(resolve))
      })
      const now = `${status}; ${count} writes meanwhile, the longest took ${longest.toFixed(0)} ms`
      return { now, isBlocked: status === 200 && longest < 500 }
    },
  },
]
