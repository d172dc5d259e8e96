/**
 * Projects that `filigree new` makes of the packed tarball: their types, their tests, their start, their image's
 * start, and `filigree dev` in one. Packages are the repository's, but in the one that is installed from the registry.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Finding } from '../../src/cli/commands/doctor-checks.js'
import type { DevEvent } from '../../src/cli/dev/child-process.js'
import { expectAccessible, forEachDisplay } from '../browser/accessibility.js'
import { withPage } from '../browser/open-page.js'
import { freePort } from '../free-port.js'
import { canReachRegistry, NewProjects, run } from './new-projects.js'
import { waitUntil } from '../wait-until.js'

const projects = new NewProjects()
beforeAll(() => projects.open())
afterAll(() => projects.close())

describe('a new project', () => {
  it.each([
    ['sqlite', 'node'],
    ['postgres', 'vitest'],
    ['sqlite', 'jest'],
  ])('with records in %s and tests by %s is green, and starts', async (records, tests) => {
    const name = `desk-${records}-${tests}`
    const project = await projects.make(name, '--records', records, '--tests', tests, '--page')
    expect(await run(project, ['npm', 'run', 'types', '--silent'])).toEqual({ code: 0, output: '' })
    const tested = await run(project, ['npm', 'test', '--silent'])
    expect(tested).toEqual({ code: 0, output: expect.stringMatching(/\b5 passed|pass 5\b/) })
    const checked = await run(project, ['node_modules/.bin/filigree', 'migrate', 'check'])
    expect(checked).toEqual({ code: 0, output: 'The migrations fit the records.\n' })
    // Only the keys, the database and its tables are missing, which a project cannot contain.
    const address = records === 'postgres' ? 'postgres://desk@127.0.0.1:1/desk' : ''
    const port = String(await freePort())
    const production = { NODE_ENV: 'production', DATABASE_URL: address, PORT: port }
    const doctor = ['node_modules/.bin/filigree', 'doctor', '--production', '--json']
    const found = JSON.parse((await run(project, doctor, production)).output) as Finding[]
    const later = ['database', 'tables']
    const faults = found.filter(({ state, about }) => state === 'fault' && !later.includes(about))
    expect(faults).toEqual([
      expect.objectContaining({ about: 'settings', what: expect.stringContaining('no keys') }),
    ])
    expect((await run(project, ['npm', 'run', 'build', '--silent'])).code).toBe(0)
    const { url, stop, link } = await projects.start(project, ['node', 'dist/main.js'])
    try {
      expect(await (await fetch(`${url}/admin`)).text()).toContain('<!doctype html>')
      expect((await fetch(`${url}/health/ready`)).status).toBe(200)
      expect(await (await fetch(url)).text()).toContain(`<title>${name}</title>`)
      const body = JSON.stringify({ name: 'ann', password: 'a long password' })
      const headers = { 'content-type': 'application/json' }
      const account = await fetch(`${url}/accounts`, { method: 'POST', headers, body })
      expect(account.status).toBe(201)
      const authorization = `Bearer ${account.headers.get('freshtoken') ?? ''}`
      const tickets = await fetch(`${url}/tickets`, { headers: { authorization } })
      expect([tickets.status, await tickets.json()]).toEqual([200, []])
      const readSession = async (token: string): Promise<unknown> =>
        (await fetch(`${url}/session`, { headers: { authorization: token } })).json()
      expect(await readSession(authorization)).toEqual({ signedIn: true, admin: false })
      const form = await fetch(`${url}${link}`)
      expect(form.status).toBe(200)
      const token = new URL(link, url).searchParams.get('token') ?? ''
      expect(await form.text()).toContain(`value="${token}"`)
      const use = (newName: string): Promise<Response> =>
        fetch(`${url}/administrator`, {
          method: 'POST',
          redirect: 'manual',
          body: new URLSearchParams({ token, name: newName, password: 'a long password' }),
        })
      const used = await Promise.all([use('bob'), use('cem')])
      expect(used.map(({ status }) => status).sort()).toEqual([303, 400])
      const created = used.find(({ status }) => status === 303)
      const admin = `Bearer ${created?.headers.get('freshtoken') ?? ''}`
      expect(await readSession(admin)).toEqual({ signedIn: true, admin: true })
    } finally {
      await stop()
    }
  })

  it('has pages without accessibility problems: its own, the sign-in and the admin', async () => {
    const project = await projects.make('desk-pages', '--records', 'sqlite', '--page')
    expect((await run(project, ['npm', 'run', 'build', '--silent'])).code).toBe(0)
    const { url, stop, link } = await projects.start(project, ['node', 'dist/main.js'])
    try {
      await withPage(url, async ({ page, errors, strangers }) => {
        const examine = (view: string): Promise<void> =>
          forEachDisplay(page, (display) => expectAccessible(page, `${view}, ${display}`))
        const press = (name: string): Promise<void> => page.getByRole('button', { name }).click()
        await page.goto(url)
        await page.getByLabel('Name').fill('ann')
        await examine('sign-in of the page')
        await page.getByLabel('Password').fill('a long password')
        await press('Sign in')
        await page.getByText('Name or password is wrong.').waitFor()
        await examine('refused sign-in')
        await press('Create an account')
        await page.getByText('There are no tickets yet.').waitFor()
        await examine('page without tickets')
        await page.getByLabel('New ticket').fill('The printer is out of paper')
        await press('Add')
        await page.getByRole('checkbox', { name: 'The printer is out of paper' }).click()
        await page.locator('.done').waitFor()
        await examine('page with a ticket')
        await press('Sign out')
        await page.goto(`${url}${link}`)
        await page.getByLabel('Name').fill('bob')
        await page.getByLabel('Password').fill('a long password')
        await examine('form of the first administrator')
        await press('Create the account')
        await page.getByRole('heading', { level: 1 }).waitFor()
        await examine('start of the admin')
        await page.goto(`${url}/admin/tickets`)
        await page.locator('tbody tr').first().waitFor()
        await examine('list of the admin')
        await page.goto(`${url}/admin/tickets/1`)
        await page.locator('form .buttons').waitFor()
        await examine('row of the admin')
        await page.goto(`${url}/admin/tickets/new`)
        await page.locator('form .buttons').waitFor()
        await examine('form of the admin')
        await press('Sign out')
        await page.getByLabel('Password').waitFor()
        await examine('sign-in of the admin')
        // Chromium reports the refused sign-in.
        const failures = errors.filter((message) => !message.includes('status of 401'))
        expect({ failures, strangers }).toEqual({ failures: [], strangers: [] })
      })
    } finally {
      await stop()
    }
  }, 600_000)

  it('starts in production as its image does', async () => {
    const project = await projects.make('desk-image')
    const cli = join(project, 'node_modules/.bin/filigree')
    expect((await run(project, ['npm', 'run', 'build', '--silent'])).code).toBe(0)
    const keys = JSON.parse((await run(project, [cli, 'keys', '--json'])).output)
    const more = { ...keys, NODE_ENV: 'production', DATABASE_URL: 'sqlite:./data/image.db' }
    const unready = await run(project, ['node', 'dist/main.js'], { ...more, PORT: '0' })
    expect(unready).toMatchObject({ code: 1, output: expect.stringContaining('migrate up') })
    const up = await run(project, [cli, 'migrate', 'up', '--module', 'dist/main.js'], more)
    expect(up).toMatchObject({ code: 0 })
    const { url, stop, link } = await projects.start(project, ['node', 'dist/main.js'], more)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    expect((await fetch(`${url}${link}`)).status).toBe(200)
    await stop()
    expect(await readFile(join(project, 'Dockerfile'), 'utf8')).toContain(
      'filigree migrate up --module dist/main.js && exec node dist/main.js',
    )
  })

  it('is made by `npm create` too', async () => {
    const create = join(projects.folder, 'node_modules/create-filigree/create.mjs')
    const creation = await run(projects.folder, [
      'node',
      create,
      'desk-created',
      '--yes',
      '--no-install',
      '--json',
    ])
    expect(JSON.parse(creation.output)).toMatchObject({
      folder: join(projects.folder, 'desk-created'),
    })
    const file = JSON.parse(
      await readFile(join(projects.folder, 'desk-created/package.json'), 'utf8'),
    )
    expect(file.dependencies.filigree).toMatch(/^file:vendor\/filigree-.*\.tgz$/)
  })

  it('stands without a network, and says what to run', async () => {
    const cli = join(projects.folder, 'node_modules/.bin/filigree')
    const offline = {
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_cache: join(projects.folder, 'empty-cache'),
    }
    const { code, output } = await run(projects.folder, [cli, 'new', 'desk-offline'], offline)
    expect(code).toBe(0)
    expect(output).toContain('could not be installed')
    expect(output).toContain('npm install\n')
    expect(await readFile(join(projects.folder, 'desk-offline/src/main.ts'), 'utf8')).toContain(
      'bootstrap',
    )
  })

  // Without SQLite's driver, which Node 20 compiles for minutes.
  it('installs itself from the registry, and is green', async () => {
    if (!(await canReachRegistry())) {
      process.stderr.write('NOT TESTED: installing a new project, because there is no network.\n')
      return
    }
    const cli = join(projects.folder, 'node_modules/.bin/filigree')
    const creation = await run(projects.folder, [
      cli,
      'new',
      'desk-installed',
      '--records',
      'postgres',
      '--json',
    ])
    expect(creation.output).toContain('"installed": true')
    const tested = await run(join(projects.folder, 'desk-installed'), ['npm', 'test'])
    expect(tested).toEqual({ code: 0, output: expect.stringMatching(/\bpass 5\b/) })
  }, 900_000)
})

describe('filigree dev', () => {
  let project: string
  const source = (name: string): string => join(project, 'src', name)
  const original = new Map<string, string>()

  beforeAll(async () => {
    project = await projects.make('desk-dev')
    for (const name of ['main.ts', 'records.ts', 'tickets.ts'])
      original.set(name, await readFile(source(name), 'utf8'))
  })

  /** Writes a file with other texts in place of some that stand there; without any it is as it was. */
  async function change(name: string, ...replaced: (readonly [string, string])[]): Promise<void> {
    let text = original.get(name) ?? ''
    for (const [before, after] of replaced) {
      expect(text).toContain(before)
      text = text.replace(before, after)
    }
    await writeFile(source(name), text)
  }

  type Named<Name extends string> = Extract<DevEvent, { event: Name }>
  type Next = <Name extends DevEvent['event']>(name: Name) => Promise<Named<Name>>

  async function develop(
    more: Readonly<Record<string, string>>,
    use: (next: Next, child: ChildProcess) => Promise<void>,
  ): Promise<void> {
    const cli = join(project, 'node_modules/.bin/filigree')
    const child = projects.spawn(project, [process.execPath, cli, 'dev', '--json'], more)
    const events: DevEvent[] = []
    let wake = (): void => undefined
    let rest = ''
    child.stdout?.on('data', (data: Buffer) => {
      const lines = (rest + data.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) events.push(JSON.parse(line) as DevEvent)
      wake()
    })
    /** The next event of a kind; those of other kinds stay for who asks for them. */
    const next: Next = async (name) => {
      for (;;) {
        const place = events.findIndex(({ event }) => event === name)
        if (place !== -1) return events.splice(place, 1)[0] as Named<typeof name>
        await new Promise<void>((resolve) => (wake = resolve))
      }
    }
    try {
      await use(next, child)
    } finally {
      child.kill('SIGINT')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      for (const name of original.keys()) await change(name)
    }
  }

  const summary = "@Get('/summary')"

  it('serves, shows what happens, and starts again at a change, faults of types or not', () =>
    develop({}, async (next) => {
      const { url, page, pages, routes } = await next('ready')
      expect(pages).toEqual([
        { title: 'API documentation', url: `${String(url)}/swagger` },
        { title: 'GraphQL', url: `${String(url)}/graphql` },
        { title: 'Admin', url: `${String(url)}/admin` },
      ])
      expect({ page, has: routes > 5 }).toEqual({
        page: expect.stringMatching(/^\S+\/__filigree\?secret=[\w-]{32}$/),
        has: true,
      })
      expect(String(page).startsWith(String(url))).toBe(true)
      // It sets the cookie that every later request needs.
      const opened = await fetch(String(page), { redirect: 'manual' })
      expect(opened.status).toBe(303)
      expect((await fetch(`${String(url)}/__filigree`)).status).toBe(403)
      expect((await next('types')).errors).toEqual([])
      const faulty = "@Get('/faulty') faulty(): number { return 'f' }"
      await change('tickets.ts', [summary, `${faulty}\n  ${summary}`])
      expect((await next('changed')).files).toEqual(['src/tickets.ts'])
      const again = await next('ready')
      const { errors } = await next('types')
      expect(errors).toMatchObject([{ file: 'src/tickets.ts', code: 'TS2322' }])
      expect((await fetch(`${String(again.url)}/tickets/faulty`)).status).toBe(401)
      expect((await next('request')).request).toMatchObject({ url: '/tickets/faulty', status: 401 })
      await change('records.ts', ['maxLength: 200', 'maxLenght: 200'])
      expect((await next('failed')).report).toContain('Did you mean "maxLength"?')
      // Not that no overload matches.
      const unknown = expect.stringContaining("'maxLenght' does not exist in type 'FieldRules'")
      expect((await next('types')).errors).toContainEqual(
        expect.objectContaining({ file: 'src/records.ts', message: unknown }),
      )
    }))

  it('waits after a start that failed, the first one too', async () => {
    await change('main.ts', ['await bootstrap', "throw new Error('not yet')\nawait bootstrap"])
    await develop({}, async (next) => {
      const { report } = await next('failed')
      expect(report).toContain('not yet')
      expect(report).not.toMatch(/node_modules|node:internal/)
      await change('main.ts')
      await next('ready')
      await change('tickets.ts', ['export class', 'export klass'])
      expect((await next('failed')).report).toContain('src/tickets.ts')
      await change('tickets.ts')
      expect((await next('ready')).url).toBeDefined()
    })
  })

  it('refuses nobody from one start to the next, and says why an application does not run', async () => {
    await develop({ PORT: String(await elsewhere()) }, async (next) => {
      const { url, page } = await next('ready')
      const cookie = cookieOf(String(page))
      const go = join(projects.folder, 'go')
      const waits = `while (!existsSync('${go}')) await new Promise((resolve) => setTimeout(resolve, 20))`
      await change('main.ts', [
        'await bootstrap',
        `import { existsSync } from 'node:fs'\n${waits}\nawait bootstrap`,
      ])
      // The process before has ended once the next is told to begin.
      await next('starting')
      await next('starting')
      expect(await getText(`${String(url)}/health/live`, { cookie })).toEqual({
        ...{ status: 503, text: 'src/main.ts is still being started.\n' },
      })
      await writeFile(go, '')
      await waitUntilServed(`${String(url)}/health/live`)
      expect((await next('ready')).url).toBe(url)
      await change('tickets.ts', [summary, `// as before\n  ${summary}`])
      await next('starting')
      await waitUntilServed(`${String(url)}/health/live`)
      expect((await next('ready')).url).toBe(url)
      await change('main.ts', ['await bootstrap', "throw new Error('not yet')\nawait bootstrap"])
      await next('failed')
      const failure = await getAfterStart(`${String(url)}/tickets`, cookie)
      expect(failure).toMatchObject({ status: 503, text: expect.stringContaining('not yet') })
      const withoutReason = {
        status: 503,
        text: 'The application is not running. The terminal of `filigree dev` shows why.\n',
      }
      // A stranger behind a proxy of this machine, with and without the headers that proxies add.
      expect(await getText(`${String(url)}/tickets`)).toEqual(withoutReason)
      const forwarded = { cookie, 'x-forwarded-for': '192.0.2.1' }
      expect(await getText(`${String(url)}/tickets`, forwarded)).toEqual(withoutReason)
      await change('main.ts', ['await bootstrap', 'process.exit(3)\nawait bootstrap'])
      expect(await next('ended')).toMatchObject({ code: 3 })
      expect((await getAfterStart(`${String(url)}/tickets`, cookie)).text).toBe(
        'The program ended (3).\n',
      )
      const other = await elsewhere()
      await change('main.ts', ['AppModule, {', `AppModule, { host: '127.0.0.1', port: ${other},`])
      expect((await next('ready')).url).toBe(`http://127.0.0.1:${other}`)
      await expect(getText(`${String(url)}/health/live`)).rejects.toThrow()
      // The same port by another address of this machine, which what is held stands in the way of.
      await change('main.ts', ['AppModule, {', `AppModule, { port: ${other},`])
      expect((await next('ready')).url).toBe(`http://localhost:${other}`)
    })
  })

  it('shows in a browser why a start failed, with the source, and then the application', async () => {
    await develop({ PORT: String(await elsewhere()) }, async (next) => {
      const { url, page: address } = await next('ready')
      await withPage(String(url), async ({ page, strangers }) => {
        await page.goto(String(address))
        await change('main.ts', [
          'await bootstrap',
          "throw new Error('<b>not yet')\nawait bootstrap",
        ])
        await next('failed')
        await page.goto(String(url))
        const shows = (text: string) =>
          page.waitForFunction((part) => document.body.textContent.includes(part), text)
        await shows('<b>not yet')
        expect(await page.title()).toBe('The application cannot start')
        expect(await page.getAttribute('html', 'lang')).toBe('en')
        expect(await page.textContent('mark')).toContain("throw new Error('<b>not yet')")
        const editor = page.getByRole('link', { name: /Open src\/main\.ts:\d+ in the editor/ })
        expect(await editor.getAttribute('href')).toMatch(
          /^vscode:\/\/file\/.+\/src\/main\.ts:\d+$/,
        )
        await forEachDisplay(page, (display) => expectAccessible(page, display))
        // The page follows the next starts by itself.
        await change('tickets.ts', ['export class', 'export klass'])
        await change('main.ts')
        await page.locator('mark', { hasText: 'export klass' }).waitFor()
        await change('records.ts', ['maxLength: 200', 'maxLenght: 200'])
        await change('tickets.ts')
        await shows('Did you mean "maxLength"?')
        await change('records.ts')
        await page.waitForFunction(() => document.title === 'Page not found (404)')
        expect(await page.textContent('ul')).toContain('/tickets')
        expect(strangers).toEqual([])
      })
    })
  })

  it('shows in a browser why the first start failed, on the port of the application', async () => {
    const failing = ['await bootstrap', "throw new Error('not yet')\nawait bootstrap"] as const
    await change('main.ts', failing)
    const port = await elsewhere()
    await develop({ PORT: String(port) }, async (next) => {
      expect((await next('failed')).report).toContain('not yet')
      const { page: address } = await next('page')
      const url = `http://localhost:${port}`
      expect(address).toMatch(/^http:\/\/localhost:\d+\/__filigree\?secret=[\w-]{32}$/)
      await withPage(url, async ({ page, strangers }) => {
        await page.goto(address)
        expect(page.url()).toBe(`${url}/`)
        expect(await page.title()).toBe('The application cannot start')
        expect(await page.textContent('mark')).toContain("throw new Error('not yet')")
        await change('main.ts')
        await page.waitForFunction(() => document.title === 'Page not found (404)')
        expect(strangers).toEqual([])
      })
      expect((await next('ready')).url).toBe(url)
    })
    // The program listens on another address of this port.
    await change('main.ts', failing)
    await develop({ PORT: String(port) }, async (next) => {
      await next('page')
      await change('main.ts', ['AppModule, {', "AppModule, { host: '127.0.0.1',"])
      expect((await next('ready')).url).toBe(`http://127.0.0.1:${port}`)
    })
  })

  it('names who uses the port, and starts once it is free', async () => {
    const server = createServer().listen(0)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await develop({ PORT: String(port) }, async (next) => {
      const by = expect.stringContaining(String(process.pid))
      expect(await next('port')).toMatchObject({ port, by })
      server.close()
      expect((await next('ready')).url).toContain(String(port))
    })
  })

  it('ends with all that it has started, even if it is killed while the application loops', async () => {
    await change(
      'tickets.ts',
      ['{ Controller', '{ NoAuth, Controller'],
      [summary, `@Get('/loop') @NoAuth loop(): void { for (;;); }\n  ${summary}`],
    )
    await develop({}, async (next, child) => {
      const { url } = await next('ready')
      await next('types')
      const pending = fetch(`${String(url)}/tickets/loop`).catch(() => undefined)
      // It does not respond any more.
      const signal = (): AbortSignal => AbortSignal.timeout(1000)
      while (await fetch(`${String(url)}/health/live`, { signal: signal() }).then(isTrue, isFalse))
        continue
      const started = await childrenOf(child.pid)
      expect(started.length).toBeGreaterThanOrEqual(2)
      child.kill('SIGKILL')
      await waitUntil(() => !started.some(isAlive))
      await pending
    })
  })

  it('is readable without colours, in few lines', async () => {
    await change('main.ts', ['  database,', '  databse: database,'])
    const cli = join(project, 'node_modules/.bin/filigree')
    const child = projects.spawn(project, [process.execPath, cli, 'dev'])
    let output = ''
    await new Promise<void>((resolve) => {
      child.stdout?.on('data', (data: Buffer) => {
        output += data.toString()
        if (output.includes('Waiting for a change.')) resolve()
      })
    })
    child.kill('SIGINT')
    await once(child, 'exit')
    await change('main.ts')
    expect(output).toContain('Did you mean "database"?')
    expect(output.split('\n').length).toBeLessThan(25)
    expect(output).not.toMatch(/\u001b|\n\s+at /)
  })
})

/** @returns a port that nobody listens at */
async function elsewhere(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Repeats the request until the response is 200. A start that takes long is reported with 503. */
async function waitUntilServed(url: string): Promise<void> {
  for (;;) {
    const { status } = await getText(url)
    if (status === 200) return
    expect(status).toBe(503)
  }
}

/** Repeats the request until the application has started. */
async function getAfterStart(url: string, cookie: string) {
  for (;;) {
    const answer = await getText(url, { cookie })
    if (!answer.text.includes('still being started')) return answer
  }
}

/** The cookie that a browser sends after it has opened the printed address of the development page. */
function cookieOf(page: string): string {
  const { port, searchParams } = new URL(page)
  return `filigree-dev-${port}=${searchParams.get('secret') ?? ''}`
}

async function getText(url: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(url, { headers: { connection: 'close', ...headers } })
  return { status: answer.status, text: await answer.text() }
}

async function childrenOf(pid: number | undefined): Promise<number[]> {
  const { output } = await run('.', ['ps', '-o', 'pid=', '--ppid', String(pid)])
  return output.trim().split(/\s+/).map(Number)
}

const isTrue = (): boolean => true
const isFalse = (): boolean => false

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
