/**
 * Kills one of three processes on one database by `kill -9` in the middle of writes: confirmed writes of all
 * processes are stored, no write is stored by half, the other two go on, and on PostgreSQL they get each other's changes.
 * `npm run faults -- --only processes`
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from '../../src/index.js'
import { subscribe } from '../graphql/event-client.js'
import { say } from './command-line.js'
import { records } from './shop-application.js'
import { findLoss, writeSteadily } from './steady-writes.js'

/** @returns the number of findings */
export async function killOneOfThree(url: string): Promise<number> {
  const database = await connect(url, { records })
  await database.sync()
  const processes = await Promise.all([startShop(url), startShop(url), startShop(url)])
  const urls = processes.map(({ address }) => address)
  try {
    let isKilled = false
    const killing = async (): Promise<void> => {
      await pause(1500)
      processes[0].child.kill('SIGKILL')
      await once(processes[0].child, 'exit')
      isKilled = true
    }
    const [before] = await Promise.all([writeSteadily(urls, 9, () => isKilled), killing()])
    const remaining = urls.slice(1)
    const after = await writeSteadily(remaining, 6, ({ names }) => names.size >= 200)
    const isNotified = database.engineName === 'sqlite' || (await receivesChanges(remaining))
    const names = new Set([...before.names, ...after.names])
    const loss = await findLoss(database, { ...before, names })
    const unclean = [...before.unclean, ...after.unclean]
    const failed = Object.keys(after.statuses).filter(
      (status) => Number(status) !== 200 && Number(status) !== 201,
    )
    say({
      part: 'processes',
      engine: database.engineName,
      before: before.statuses,
      after: after.statuses,
      heard: isNotified,
      unclean,
      ...loss,
    })
    return loss.missing + loss.half + unclean.length + failed.length + (isNotified ? 0 : 1)
  } finally {
    for (const { child } of processes) child.kill('SIGTERM')
    await Promise.all(processes.map(({ child }) => ended(child)))
    await database.close()
  }
}

/** @returns whether a subscriber of one process gets the changes of the other */
async function receivesChanges([first = '', second = '']: readonly string[]): Promise<boolean> {
  const client = await subscribe(
    `${first}/graphql`,
    'subscription { thingChanged { event thing { name } } }',
  )
  const [change] = await Promise.all([
    client.next(),
    writeSteadily([second], 1, ({ names }) => names.size > 0),
  ])
  client.leave()
  return change?.errors === undefined && change?.data !== undefined
}

interface Shop {
  readonly child: ChildProcess
  readonly address: string
}

async function startShop(url: string): Promise<Shop> {
  const program = fileURLToPath(new URL('./shop-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', program, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
  })
  const [address] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, address }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
