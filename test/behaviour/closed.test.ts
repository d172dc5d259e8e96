/** Source: decisions, Access to routes. Titles begin with the statement that they check. */
import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Record as Table,
  type Application,
  type BootstrapOptions,
} from '../../src/index.js'
import { health } from '../../src/modules/health/health.js'
import { mcp, Resource, Tool } from '../../src/modules/mcp/mcp.js'
import { metrics, type MetricsOptions } from '../../src/modules/metrics/metrics.js'

@Tool
@Table
class Lamp {
  @Field('id') id!: number
}

@Table({ rows: (user) => user !== null })
class Draft {
  @Field('id') id!: number
}

@Controller('/drafts', { crud: Draft, only: ['list'] })
class Drafts {
  @Get('/titles') titles() {
    return []
  }
}

@Controller('/pages')
class Pages {
  @Get('/') list() {
    return []
  }
  @Get('/open') @NoAuth open() {
    return []
  }
  @Post('/contact') @NoAuth contact() {
    return {}
  }
  @Resource('pages://guide') @NoAuth guide() {
    return 'guide'
  }
}

const lines: { open?: string[]; message: string }[] = []
const at = () => (fields: object, message: string) => void lines.push({ ...fields, message })
const logger = { error: at(), warn: at(), info: at(), debug: at() }

let app: Application

async function start(
  options: BootstrapOptions,
  metricsOptions: MetricsOptions = {},
  variables: { [name: string]: string } = {},
) {
  @Module({
    controllers: [Pages, Drafts],
    records: [Lamp, Draft],
    imports: [metrics(metricsOptions), health(), mcp()],
  })
  class AppModule {}
  lines.length = 0
  app = await bootstrap(AppModule, {
    listen: false,
    env: { PUBLIC_URL: 'https://desk.example', ...variables },
    logger,
    database: 'sqlite::memory:',
    ...options,
  })
}

/** Creates a database with its tables, because production creates none. @returns its URL */
async function prepared(): Promise<string> {
  const database = `sqlite:${join(folder, `${++count}.db`)}`
  await start({ database })
  await app.close()
  return database
}

let count = 0
const folder = mkdtempSync(join(tmpdir(), 'filigree-closed-'))
afterEach(() => app.close())
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const html = { accept: 'text/html' }
const status = async (url: string, token?: string): Promise<number> =>
  (await app.inject({ url, headers: html, ...(token === undefined ? {} : { token }) })).status

describe('Closed', () => {
  const publicPaths = [
    '/swagger',
    '/swagger/page.js',
    '/swagger/openapi.json',
    '/swagger/openapi.yaml',
    '/metrics',
  ]

  it('documentation, OpenAPI document, IDE and metrics need a token too', async () => {
    await start({ auth: { closed: true } })
    const token = await app.get(Auth).getToken({ sub: 'ann' })
    for (const url of ['/pages', ...publicPaths]) {
      expect([url, await status(url)]).toEqual([url, 401])
      expect([url, await status(url, token)]).toEqual([url, 200])
    }
    // The IDE would be 200.
    expect(await status('/graphql')).toBe(406)
    expect(await status('/pages/open')).toBe(200)
    expect(await status('/health/live')).toBe(200)
  })

  it('each of them can be made public', async () => {
    const docs = { secured: false }
    await start({ auth: { closed: true }, docs, graphql: { ide: true } }, { secured: false })
    for (const url of publicPaths) expect([url, await status(url)]).toEqual([url, 200])
    expect((await app.inject({ url: '/graphql', headers: html })).body).toContain('<html')
  })

  it('without the option they are public', async () => {
    await start({})
    for (const url of publicPaths) expect([url, await status(url)]).toEqual([url, 200])
    expect(
      lines.filter(({ message }) => message.startsWith('Callers without a token may')),
    ).toEqual([])
  })

  it('the start in production lists in one line what is public', async () => {
    const database = await prepared()
    await start(
      { static: { '/assets': 'test' }, auth: { keys: false }, database },
      {},
      { NODE_ENV: 'production' },
    )
    const [line, ...more] = lines.filter(({ message }) =>
      message.startsWith('Callers without a token may'),
    )
    expect(more).toEqual([])
    expect(line?.message.split('\n')).toHaveLength(1)
    const listed = line?.open?.join('\n') ?? ''
    for (const one of [
      'GET /pages',
      'GET /metrics',
      'POST /pages/contact',
      '/graphql',
      'Lamp',
      '/swagger',
      '/assets',
      'any origin (CORS)',
      'POST /mcp',
    ])
      expect(listed).toContain(one)
    expect(line?.open).toContain('query Draft (open, shows no rows without a sign-in)')
    const reads = line?.open?.find((one) => one.startsWith('read GET'))?.split(', ')
    expect(reads).toContain('GET /drafts/titles')
    expect(reads).not.toContain('GET /drafts')
    // Routes that only modules use, such as the tools of records.
    expect(listed).not.toContain('~')
  })

  it('the line lists what is public in spite of the option', async () => {
    const database = await prepared()
    const cors = { origins: ['https://shop.example'] }
    await start(
      { auth: { closed: true, keys: false }, cors, database },
      {},
      { NODE_ENV: 'production' },
    )
    const listed =
      lines
        .find(({ message }) => message.startsWith('Callers without a token may'))
        ?.open?.join('\n') ?? ''
    expect(listed).toContain('GET /pages/open')
    expect(listed).toContain('https://shop.example')
    for (const one of ['GET /pages,', '/metrics', '/swagger', 'Lamp', '/graphql'])
      expect(listed).not.toContain(one)
  })
})
