/** The trials of the fire drill, each on its own database. Source: docs/maintainers/reliability.md. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync, statfsSync, chmodSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pgbouncer, startPgBouncer } from '../records/pgbouncer.js'
import { Client, startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'
import { startStallingProxy } from '../records/stalling-proxy.js'
import { startStandby } from '../records/standby-server.js'
import {
  send,
  command,
  folder,
  countLost,
  pause,
  post,
  program,
  serve,
  stop,
  textOf,
  untilOk,
  writeTo,
  type TrialResult,
} from './shop-processes.js'

export type Trial = (server: OwnPostgres) => Promise<TrialResult>

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export const trials: Readonly<Record<string, Trial>> = {
  'database stalled': async (server) => {
    const proxy = await startStallingProxy(server.url)
    const shop = await serve(proxy.through(await server.createDatabase()))
    const first = await post(`${shop.url}/visits`)
    const [cookie = ''] = (first.headers.get('set-cookie') ?? '').split(';')
    proxy.stall()
    const live = await send(`${shop.url}/health/live`)
    const scrape = await send(`${shop.url}/metrics`)
    const plain = await send(`${shop.url}/plain`)
    const ready = await send(`${shop.url}/health/ready`)
    const keyed = await post(`${shop.url}/notes`, { text: 'keyed' }, { 'idempotency-key': 'k' })
    const visit = await post(`${shop.url}/visits`, {}, { cookie })
    proxy.resume()
    const startedAt = performance.now()
    const after = await untilOk(() => post(`${shop.url}/visits`, {}, { cookie }))
    const back = performance.now() - startedAt
    const texts = (await untilOk(() => send(`${shop.url}/texts`))).body as string[]
    await stop(shop)
    await proxy.close()
    return {
      promised:
        'live, metrics and limits respond; ready, keyed writes and sessions are 503 within 3 s; nothing is written',
      observed: `live ${live.status} in ${seconds(live.ms)}, metrics ${scrape.status} in ${seconds(scrape.ms)}, limited GET ${plain.status} in ${seconds(plain.ms)}, ready ${ready.status} in ${seconds(ready.ms)}, keyed write ${keyed.status} in ${seconds(keyed.ms)} (${texts.includes('keyed') ? 'written' : 'not written'}), session ${visit.status} in ${seconds(visit.ms)}; all work again after ${seconds(back)}`,
      passed:
        [live, scrape, plain].every(({ status, ms }) => status === 200 && ms < 3000) &&
        [ready, keyed, visit].every(({ status, ms }) => status === 503 && ms < 3000) &&
        visit.headers.get('set-cookie') === null &&
        !texts.includes('keyed') &&
        after.status === 200,
    }
  },

  'database restarted': async (server) => {
    const shop = await serve(await server.createDatabase())
    const end = writeTo([shop, shop, shop], 'restart')
    await pause(1000)
    await server.stop()
    const reads = await send(`${shop.url}/plain`)
    await pause(500)
    await server.start()
    const startedAt = performance.now()
    await untilOk(() => post(`${shop.url}/notes`, { text: 'after' }))
    const back = performance.now() - startedAt
    const { written, otherStatuses } = await end()
    const lostCount = await countLost(shop, written)
    await stop(shop)
    return {
      promised: 'writes succeed or are 503, none is lost, and the shop recovers by itself',
      observed: `${written.length} written, ${lostCount} lost, ${textOf(otherStatuses)}; GET without database ${reads.status}; recovered in ${seconds(back)}`,
      passed:
        lostCount === 0 &&
        reads.status === 200 &&
        [...otherStatuses.keys()].every((status) => status === 503),
    }
  },

  'standby promoted': async (server) => {
    const url = await server.createDatabase()
    const first = await serve(url)
    const standby = await startStandby(server)
    const end = writeTo([first], 'promote')
    await pause(1000)
    const { written } = await end()
    await server.stop()
    const client = new Client({ connectionString: standby.at(server.url) })
    await client.connect()
    await client.query('select pg_promote()')
    await client.end()
    await stop(first)
    const shop = await serve(standby.at(url))
    const lostCount = await countLost(shop, written)
    const after = await untilOk(() => post(`${shop.url}/notes`, { text: 'after' }))
    await stop(shop)
    await standby.close()
    await server.start()
    return {
      promised:
        'the promoted standby has all writes that the primary confirmed, and accepts writes',
      observed: `${written.length} written, ${lostCount} lost; a write afterwards ${after.status}`,
      passed: lostCount === 0 && after.status === 200,
    }
  },

  'disk full, embedded': () =>
    onSmallDisk('8m', (disk) => fill(disk, `sqlite:${join(disk, 'app.db')}`)),

  'disk full, PostgreSQL': () =>
    onSmallDisk('160m', async (disk) => {
      const before = process.env['TMPDIR']
      process.env['TMPDIR'] = disk
      const smallServer = await startOwnPostgres().finally(() => {
        if (before === undefined) delete process.env['TMPDIR']
        else process.env['TMPDIR'] = before
      })
      try {
        return await fill(disk, await smallServer.createDatabase())
      } finally {
        await smallServer.close()
      }
    }),

  'clock an hour off': async (server) => {
    const url = await server.createDatabase()
    const right = await serve(url)
    const wrong = await serve(url, { ahead: 3_600_000 })
    const first = await post(`${wrong.url}/visits`)
    const [cookie = ''] = (first.headers.get('set-cookie') ?? '').split(';')
    const visits = (await post(`${right.url}/visits`, {}, { cookie })).body as { visits: number }
    const key = { 'idempotency-key': 'hour' }
    await post(`${right.url}/notes`, { text: 'once' }, key)
    const repeated = await post(`${wrong.url}/notes`, { text: 'once' }, key)
    await send(`${wrong.url}/rare`)
    await send(`${right.url}/rare`)
    const refused = await send(`${right.url}/rare`)
    const wait = Number(refused.headers.get('retry-after'))
    const texts = (await send(`${right.url}/texts`)).body as string[]
    await stop(right, wrong)
    const times = texts.filter((text) => text === 'once').length
    return {
      promised: 'sessions are shared, a keyed write runs once, and limits end at the right time',
      observed: `visits ${visits.visits}, written ${times} ×, repeated ${repeated.headers.get('idempotent-replayed') === 'true' ? 'the response' : 'the work'}, Retry-After ${wait}`,
      passed: visits.visits === 2 && times === 1 && refused.status === 429 && wait <= 60,
    }
  },

  'pooler stopped': async (server) => {
    const promised = 'writes are 503 meanwhile and succeed afterwards, none is lost'
    if (pgbouncer === undefined)
      return { promised, observed: 'skipped: PgBouncer is not installed', passed: true }
    const direct = await server.createDatabase()
    const proxy = await startPgBouncer(server.url)
    const gate = await startStallingProxy(proxy.through(server.url))
    const pooled = new URL(proxy.through(direct))
    pooled.host = new URL(gate.through(direct)).host
    const shop = await serve(pooled.href, { env: { DATABASE_DIRECT_URL: direct } })
    const end = writeTo([shop], 'pooler')
    await pause(500)
    gate.stall()
    const live = await send(`${shop.url}/health/live`)
    const session = await post(`${shop.url}/notes`, { text: 'k' }, { 'idempotency-key': 'p' })
    gate.resume()
    await untilOk(() => post(`${shop.url}/notes`, { text: 'after' }))
    const { written, otherStatuses } = await end()
    const lostCount = await countLost(shop, written)
    await stop(shop)
    await gate.close()
    await proxy.close()
    return {
      promised,
      observed: `live ${live.status}, keyed write ${session.status} in ${seconds(session.ms)}; ${written.length} written, ${lostCount} lost, ${textOf(otherStatuses)}`,
      passed: lostCount === 0 && live.status === 200 && session.status === 503,
    }
  },

  'one of three processes killed': async (server) => {
    const url = await server.createDatabase()
    const first = await serve(url)
    const shops = [first, ...(await Promise.all([serve(url), serve(url)]))]
    const [ended, ...otherStatuses] = [
      writeTo(shops.slice(0, 1), 'killed'),
      writeTo(shops.slice(1), 'lives'),
    ]
    await pause(1000)
    await stop(first)
    await pause(1000)
    const killed = await ended()
    const lived = (await Promise.all(otherStatuses.map((end) => end())))[0]
    const written = [...killed.written, ...(lived?.written ?? [])]
    const lostCount = await countLost(shops[1] as (typeof shops)[0], written)
    await stop(...shops)
    return {
      promised: 'all confirmed writes are stored, and the other processes go on',
      observed: `${written.length} written, ${lostCount} lost; on the other processes ${textOf(lived?.otherStatuses ?? new Map())}`,
      passed: lostCount === 0 && lived?.otherStatuses.size === 0,
    }
  },

  'two deployments migrate at the same time': async (server) => {
    const url = await server.createDatabase()
    const directory = join(folder, 'deploy')
    mkdirSync(join(directory, 'migrations'), { recursive: true })
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
    const run = promisify(execFile)
    const env = { ...process.env, DATABASE_URL: url, NODE_ENV: 'production' }
    const migrate = (...args: string[]) =>
      run(process.execPath, [command, 'migrate', ...args, '--module', program], {
        cwd: directory,
        env,
      })
    await migrate('make', 'first')
    const results = await Promise.allSettled([migrate('up'), migrate('up'), migrate('up')])
    const failed = results.filter(({ status }) => status === 'rejected').length
    const status = await migrate('status').then(
      () => 'all have run',
      () => 'some have not run',
    )
    const shop = await serve(url, { env: { NODE_ENV: 'production' } })
    const { status: written } = await post(`${shop.url}/notes`, { text: 'one' })
    await stop(shop)
    return {
      promised: 'each migration runs once, no process fails, and production starts on the result',
      observed: `3 at the same time, ${failed} failed; ${status}; a write ${written}`,
      passed: failed === 0 && status === 'all have run' && written === 200,
    }
  },
}

/** Fills the disk while the shop writes, and then frees space again. */
async function fill(disk: string, database: string): Promise<TrialResult> {
  const shop = await serve(database)
  const end = writeTo([shop, shop], 'disk')
  await pause(500)
  const filler = join(disk, 'filler')
  const { bavail, bsize } = statfsSync(disk)
  try {
    writeFileSync(filler, Buffer.alloc(bavail * bsize))
  } catch {
    // The disk is full, because the shop wrote at the same time.
  }
  const text = 'x'.repeat(20_000)
  let full = 0
  for (let count = 0; count < 400 && full !== 503; count++) {
    full = (await post(`${shop.url}/notes`, { text })).status
  }
  const reads = await send(`${shop.url}/health/live`)
  rmSync(filler, { force: true })
  const after = await untilOk(() => post(`${shop.url}/notes`, { text: 'after' }))
  const { written, otherStatuses } = await end()
  const lostCount = await countLost(shop, written)
  await stop(shop)
  return {
    promised:
      'writes are 503 while the disk is full, none is lost, and they succeed once there is space again',
    observed: `full: ${full}, live ${reads.status}; ${written.length} written, ${lostCount} lost, ${textOf(otherStatuses)}; afterwards ${after.status}`,
    passed: lostCount === 0 && full === 503 && after.status === 200 && reads.status === 200,
  }
}

async function onSmallDisk(
  size: string,
  run: (disk: string) => Promise<TrialResult>,
): Promise<TrialResult> {
  const disk = mkdtempSync(join(tmpdir(), 'filigree-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=1777`, 'tmpfs', disk], {
      stdio: 'pipe',
    })
  } catch {
    rmSync(disk, { recursive: true })
    const observed = 'skipped: no tmpfs can be mounted here'
    return {
      promised: 'writes are 503 while the disk is full, none is lost',
      observed,
      passed: true,
    }
  }
  try {
    chmodSync(disk, 0o1777)
    return await run(disk)
  } finally {
    execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true, force: true })
  }
}
