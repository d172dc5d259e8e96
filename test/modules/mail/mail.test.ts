/** `filigree/mail`: sent by a job in the transaction, captured outside production, on both engines. */
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, connect, Database, Module, type Application } from 'filigree'
import { JobEntry, Jobs, jobs } from 'filigree/jobs'
import { mail, Mailer, MailJobs, type MailOptions } from 'filigree/mail'
import { testApplication, type TestApplication } from 'filigree/testing'
import { closeJobDatabases, jobDatabases } from '../jobs/databases.js'

function applicationOf(options: MailOptions) {
  @Module({ imports: [jobs(), mail(options)] })
  class App {}
  return App
}

describe.each(jobDatabases)('on %s', (_name, open) => {
  let desk: TestApplication
  let mailer: Mailer

  beforeAll(async () => {
    const app = applicationOf({ transport: 'smtp://127.0.0.1:1', from: 'desk@example.com' })
    desk = await testApplication(app, { database: await open() })
    mailer = desk.get(Mailer)
  })
  afterEach(() => desk.reset({ emptyTables: true }))
  afterAll(() => desk.close())

  it('a mail is captured in tests, after its job has run', async () => {
    await mailer.send({
      to: 'ann@example.com',
      subject: 'Welcome',
      text: 'Hello',
      html: '<p>Hello',
    })
    expect(desk.mail).toEqual([])
    expect(await desk.jobs.run()).toBe(1)
    expect(desk.mail).toMatchObject([
      {
        from: 'desk@example.com',
        to: ['ann@example.com'],
        subject: 'Welcome',
        text: 'Hello',
        html: '<p>Hello',
      },
    ])
    await desk.reset({ emptyTables: true })
    expect(desk.mail).toEqual([])
  })

  it('its content is in no log, and is deleted from its row once it is sent', async () => {
    const text = 'Sign in: https://desk.example/once/4711'
    const { id } = await mailer.send({ to: '"Ann, Dr." <ann@example.com>', subject: 'Link', text })
    const [added] = await desk.jobs.added(MailJobs, 'send')
    expect(added?.body).toMatchObject({ text })
    await desk.jobs.run()
    expect(desk.mail).toMatchObject([{ to: ['"Ann, Dr." <ann@example.com>'], text }])
    expect(await desk.get(Jobs).find(id)).toMatchObject({ body: null, secretBody: null })
    expect(JSON.stringify(desk.log)).not.toContain('4711')
  })

  it('a mail of a transaction that is rolled back is never sent', async () => {
    const work = desk.get(Database).transaction(async () => {
      await mailer.send({ to: 'ann@example.com', subject: 'Welcome', text: 'Hello' })
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect(await desk.jobs.run()).toBe(0)
  })

  it.each<[string, object, string]>([
    ['no content', { to: 'a@b.c', subject: 'x' }, 'neither text nor html'],
    ['no recipient', { to: [], subject: 'x', text: 'x' }, 'to '],
    [
      'a second header in the subject',
      { to: 'a@b.c', subject: 'x\r\nBcc: z@b.c', text: 'x' },
      'subject',
    ],
    ['a second header in an address', { to: 'a@b.c\nBcc: z@b.c', subject: 'x', text: 'x' }, 'to'],
    ['two receivers in one', { to: 'a@b.c, z@b.c', subject: 'x', text: 'x' }, 'to is not one'],
    ['a group of receivers', { to: 'all: a@b.c, z@b.c;', subject: 'x', text: 'x' }, 'to is not'],
    [
      'a second address in cc',
      { to: 'a@b.c', cc: 'A <a@b.c> z@b.c', subject: 'x', text: 'x' },
      'cc',
    ],
    ['a sender of two', { from: 'a@b.c;z@b.c', to: 'a@b.c', subject: 'x', text: 'x' }, 'from is'],
    ['NUL in a name', { to: 'A\0 <a@b.c>', subject: 'x', text: 'x' }, 'to is not'],
    ['a long subject', { to: 'a@b.c', subject: 'x'.repeat(1001), text: 'x' }, 'subject'],
    [
      'a header that adds receivers',
      { to: 'a@b.c', subject: 'x', text: 'x', headers: { bCC: 'z@b.c' } },
      'which the mail sets itself',
    ],
    [
      'a second header in a name of a header',
      { to: 'a@b.c', subject: 'x', text: 'x', headers: { 'X-A: 1\r\nBcc': 'z@b.c' } },
      'headers contains an invalid name',
    ],
    [
      'a second header in a header',
      { to: 'a@b.c', subject: 'x', text: 'x', headers: { 'X-A': '1\r\nBcc: z@b.c' } },
      'must be one line',
    ],
    [
      'an attachment from the disk',
      {
        to: 'a@b.c',
        subject: 'x',
        text: 'x',
        attachments: [{ filename: 'a', path: '/etc/passwd' }],
      },
      'unknown option "path"',
    ],
    [
      'a second header in a file name',
      { to: 'a@b.c', subject: 'x', text: 'x', attachments: [{ filename: 'a\r\nb', content: '' }] },
      'filename is not a valid file name',
    ],
    [
      'a second header in a content type',
      {
        ...{ to: 'a@b.c', subject: 'x', text: 'x' },
        attachments: [{ filename: 'a', content: '', contentType: 'text/plain\r\nX: y' }],
      },
      'contentType of "a"',
    ],
    [
      'a thousand receivers',
      { to: Array.from({ length: 1000 }, () => 'a@b.c'), subject: 'x', text: 'x' },
      'at most 100',
    ],
    [
      'an unknown key',
      { too: 'a@b.c', to: 'a@b.c', subject: 'x', text: 'x' },
      'unknown option "too"',
    ],
  ])('%s is refused', async (_what, invalid, message) => {
    await expect(mailer.send(invalid as never)).rejects.toThrow(message)
    expect(await desk.jobs.run()).toBe(0)
  })
})

it.each<[string, MailOptions, string]>([
  ['a transport that is none', { transport: 'http://example.com' }, 'transport cannot be used'],
  ['a sender that is none', { from: 'desk' }, 'from cannot be used'],
  ['an unknown option', { form: 'a@b.c' } as never, 'Did you mean "from"?'],
])('%s is a problem at the start', async (_name, options, message) => {
  await expect(testApplication(applicationOf(options))).rejects.toThrow(message)
})

it('without jobs it reports which module to import', async () => {
  @Module({ imports: [mail()] })
  class App {}
  await expect(testApplication(App)).rejects.toThrow('imports: [jobs({ work: true }), mail(…)]')
})

it('requires a transport in production', async () => {
  await using database = await connect('sqlite::memory:', { records: [JobEntry] })
  await database.sync()
  const env = { NODE_ENV: 'production' }
  const start = (options: MailOptions): Promise<Application> => {
    const settings = { listen: false, logger: false, auth: { keys: false }, database, env } as const
    return bootstrap(applicationOf(options), settings)
  }
  await expect(start({})).rejects.toThrow('transport is required in production')
  const caught = start({ catch: true, transport: 'smtp://127.0.0.1:1' })
  await expect(caught).rejects.toThrow('catch: true prevents all mail')
  await (await start({ transport: 'smtp://127.0.0.1:1' })).close()
})

/** An SMTP server that refuses the first attempts. */
async function startSmtp(refusals: number): Promise<{ server: Server; received: string[] }> {
  const received: string[] = []
  let refusalsLeft = refusals
  const server = createServer((socket: Socket) => {
    let text = ''
    let isData = false
    const say = (line: string): void => void socket.write(`${line}\r\n`)
    say('220 test')
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      text += bytes.toString()
      for (;;) {
        const end = isData ? text.indexOf('\r\n.\r\n') : text.indexOf('\r\n')
        if (end === -1) return
        const line = text.slice(0, end)
        text = text.slice(end + (isData ? 5 : 2))
        if (isData) {
          received.push(line)
          isData = false
          say('250 taken')
        } else if (/^EHLO/i.test(line)) say('250 test')
        else if (/^MAIL/i.test(line)) say(refusalsLeft-- > 0 ? '451 later' : '250 ok')
        else if (/^DATA/i.test(line)) {
          isData = true
          say('354 go on')
        } else if (/^QUIT/i.test(line)) {
          say('221 bye')
          socket.end()
        } else say('250 ok')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, received }
}

it('is sent by SMTP, again after a refusal, with a stable id', async () => {
  const { server, received } = await startSmtp(1)
  const { port } = server.address() as AddressInfo
  const app = applicationOf({
    transport: `smtp://127.0.0.1:${port}`,
    from: 'Help desk <desk@example.com>',
    catch: false,
  })
  const desk = await testApplication(app)
  const attachments = [{ filename: 'a.txt', content: Buffer.from('attached') }]
  const { id } = await desk.get(Mailer).send({
    to: ['Ann <ann@example.com>', 'bob@example.com'],
    subject: 'Grüße',
    text: 'Hello Ann',
    attachments,
  })
  expect(await desk.jobs.run()).toBe(1)
  expect(received).toEqual([])
  await desk.clock.advance('31s')
  expect(await desk.jobs.run()).toBe(1)
  expect(received).toHaveLength(1)
  expect(received[0]).toContain('Hello Ann')
  expect(received[0]).toMatch(new RegExp(`Message-ID: <${id}\\.[0-9a-f]{24}@example\\.com>`))
  expect(received[0]).toContain(Buffer.from('attached').toString('base64'))
  await desk.close()
  server.close()
})

afterAll(closeJobDatabases)
