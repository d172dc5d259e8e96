/** What this machine offers: its cores, pinning by taskset, and a load generator. */
import { accessSync, constants } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** Whether a program is on PATH. */
function isInstalled(program) {
  return (process.env.PATH ?? '').split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const pins = os.availableParallelism() >= 2 && isInstalled('taskset')

/** Servers run on this core, the load on the other. */
export const serverCore = 0
export const loadCore = 1
/** A database server has the rest, as taskset takes it; `undefined` where there is none. */
const cores = os.availableParallelism()
export const databaseCores = pins && cores >= 3 ? `2-${cores - 1}` : undefined

/** The command line that runs a program on one core; as it stands where there is no taskset or one core only. */
export function onCore(core, program, args) {
  return pins ? ['taskset', ['-c', String(core), program, ...args]] : [program, args]
}

/**
 * Chooses the load generator.
 *
 * @throws {Error} when `wanted` is unknown or not installed
 */
export function chooseLoad(wanted) {
  const found = isInstalled('wrk')
  if (wanted === undefined) return found ? 'wrk' : 'autocannon'
  if (wanted === 'autocannon' || (wanted === 'wrk' && found)) return wanted
  throw new Error(
    `--load ${wanted}: ${wanted === 'wrk' ? 'wrk is not on PATH. Install it, or leave the option out' : 'unknown. Use wrk or autocannon'}.`,
  )
}

/** The properties of the machine, which are part of every result. */
export function describeMachine(load) {
  return {
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()}`,
    node: process.version,
    load,
    pinned: pins,
  }
}
