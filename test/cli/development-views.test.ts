/** What the views of the development page show: the JSON that they draw. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Live,
  Module,
  NoAuth,
  Record,
  Secured,
  type Application,
} from 'filigree'
import { Job, jobs } from 'filigree/jobs'
import { withoutPackageFrames } from '../../src/cli/describe-error.js'
import { silentLog } from '../silent-log.js'
import { startMonitoring, stopMonitoring } from './development-monitor.js'

@Record
@NoAuth
class Worker {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 10, scale: 2 }) @Secured('hr') salary!: string
}

@Controller('/workers', { crud: Worker })
@NoAuth
class Workers {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/broken/<pin>')
  broken(pin: string): never {
    throw new Error(`the safe refused ${pin}`)
  }

  @Get('/live')
  @Live
  follow(): Promise<Worker[]> {
    return this.database.records(Worker).list()
  }
}

class Nightly {
  @Job() run(): void {}
}

@Module({
  imports: [jobs({ work: false })],
  controllers: [Workers],
  providers: [Nightly],
  records: [Worker],
})
class OfficeModule {}

const secret = 'secret-of-the-page'
const monitor = startMonitoring(secret)
let app: Application
beforeAll(async () => {
  app = await bootstrap(OfficeModule, {
    ...{ port: 0, host: '127.0.0.1', database: 'sqlite::memory:', logger: silentLog },
    ...{ times: { linger: 20 }, env: { NODE_ENV: 'development' } },
  })
})
afterAll(async () => {
  stopMonitoring(monitor)
  await app.close()
})

async function read<T>(path: string): Promise<T> {
  const cookie = `filigree-dev-${new URL(app.url).port}=${secret}`
  const response = await fetch(`${app.url}/__filigree${path}`, { headers: { cookie } })
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

interface Summary {
  readonly number: number
  readonly url: string
  readonly live: boolean
  readonly status: number
}
const find = async (url: string): Promise<Summary | undefined> =>
  (await read<Summary[]>('/requests')).findLast((one) => one.url === url)

describe('the development page', () => {
  it('names the rules of fields in the view of a request', async () => {
    await fetch(`${app.url}/workers`)
    const { number } = (await find('/workers')) ?? {}
    const { explained } = await read<{ explained: { steps: { step: string; what: string }[] } }>(
      `/request?number=${number ?? 0}`,
    )
    const fields = explained.steps.find(({ step }) => step === 'fields')
    expect(fields?.what).toBe('salary: role hr')
  })

  it('marks a live connection', async () => {
    const closing = new AbortController()
    const headers = { accept: 'text/event-stream' }
    const options = { headers, signal: closing.signal }
    const response = await fetch(`${app.url}/workers/live`, options)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await find('/workers/live')).toMatchObject({ live: true, status: 0 })
    closing.abort()
    expect(await find('/workers')).toMatchObject({ live: false, status: 200 })
  })

  it("lists the application's records first", async () => {
    const records = await read<{ name: string; own: boolean }[]>('/records')
    expect(records[0]).toMatchObject({ name: 'Worker', own: true })
    expect(records.slice(1).length).toBeGreaterThan(0)
    expect(records.slice(1).every(({ own }) => !own)).toBe(true)
  })

  it('names the class of the application in stack frames', async () => {
    await fetch(`${app.url}/workers/broken/4711x`)
    const { number } = (await find('/workers/broken/(hidden)')) ?? {}
    const { fault } = await read<{ fault: { stack: string } }>(`/request?number=${number ?? 0}`)
    expect(fault.stack).toMatch(/at (?:Workers\.)?broken \(/)
    // esbuild renames a decorated class that names itself.
    const stack = 'Error: x\n    at async _Lamp.go (/a.ts:1:2)\n    at new _Lamp (/a.ts:1:2)'
    expect(withoutPackageFrames(stack)).toBe(stack.replaceAll('_', ''))
  })

  it('hides a secret of the path in the log line of the failure', async () => {
    await fetch(`${app.url}/workers/broken/4712x`)
    expect(JSON.stringify(await read('/log'))).not.toContain('4712x')
  })
})
