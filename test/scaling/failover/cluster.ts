/**
 * A cluster on this machine: etcd, three PostgreSQL servers with their Patroni, and haproxy, which leads to the primary.
 * Sources: Patroni, REST API; Patroni, Replication modes; haproxy, httpchk.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, openSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, isListening } from '../../free-port.js'
import { haproxyFile, password, patroniFile, type NodePorts } from './cluster-files.js'
import type { Programs } from './programs.js'

/** Milliseconds for a start, for a failover, and until all servers follow the primary again. */
const maxWait = 180_000
/** Milliseconds between two looks at the cluster, which cost its servers time. */
const interval = 200

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

interface ClusterNode extends NodePorts {
  readonly folder: string
  patroni: ChildProcess | undefined
}

export class Cluster {
  readonly folder: string
  /** The port of haproxy. */
  readonly port: number
  readonly nodes: readonly ClusterNode[]
  readonly #programs: Programs
  readonly #etcdPort: number
  readonly #others: ChildProcess[] = []

  private constructor(programs: Programs, folder: string, ports: readonly number[]) {
    const [port = 0, etcdPort = 0, ...pairs] = ports
    this.#programs = programs
    this.folder = folder
    this.port = port
    this.#etcdPort = etcdPort
    this.nodes = [1, 2, 3].map((number) => ({
      name: `node${number}`,
      folder: join(folder, `node${number}`),
      postgres: pairs[2 * number - 2] ?? 0,
      rest: pairs[2 * number - 1] ?? 0,
      patroni: undefined,
    }))
  }

  /** @returns a cluster whose servers all follow the primary */
  static async start(programs: Programs): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-failover-'))
    await chmod(folder, 0o755)
    const ports = new Set<number>()
    while (ports.size < 9) ports.add(await freePort())
    // etcd also listens for other members.
    const [peer = 0, ...others] = ports
    const cluster = new Cluster(programs, folder, others)
    try {
      await cluster.#startEtcd(peer)
      for (const node of cluster.nodes) await cluster.#prepare(node)
      for (const node of cluster.nodes) cluster.startNode(node)
      await cluster.#startHaproxy()
      await cluster.healthy()
      return cluster
    } catch (error) {
      await cluster.close()
      throw error
    }
  }

  /** The address of the primary, through haproxy. */
  get url(): string {
    return addressOf(this.port)
  }

  /** The addresses of all servers. */
  get serverUrls(): readonly string[] {
    return this.nodes.map(({ postgres }) => addressOf(postgres))
  }

  /** Resolves once the primary, a synchronous and an asynchronous replica run. */
  async healthy(): Promise<void> {
    await pollUntil('all servers follow the primary', async () => {
      const members = await this.#members()
      const roles = members.map(({ role }) => role)
      const areRunning = members.every(({ state }) => /^(?:running|streaming)$/.test(state))
      return (
        members.length === 3 &&
        areRunning &&
        roles.includes('leader') &&
        roles.includes('sync_standby')
      )
    })
  }

  async primary(): Promise<ClusterNode> {
    const leader = (await this.#members()).find(({ role }) => role === 'leader')
    const node = this.nodes.find(({ name }) => name === leader?.name)
    if (node === undefined) throw new Error('The cluster has no primary.')
    return node
  }

  /** Hands over to the synchronous replica, as for maintenance. */
  async switchOver(from: ClusterNode): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${from.rest}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: from.name }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`Patroni refused the switchover: ${response.status} ${text}`)
  }

  /** Ends Patroni and PostgreSQL of a server by `kill -9`, as a loss of its machine would. */
  async kill(node: ClusterNode): Promise<void> {
    const postmaster = postmasterOf(node)
    const children = postmaster === undefined ? [] : await childrenOf(postmaster)
    const ended = node.patroni === undefined ? undefined : once(node.patroni, 'exit')
    node.patroni?.kill('SIGKILL')
    for (const process of [postmaster, ...children]) killProcess(process)
    await ended
    node.patroni = undefined
  }

  startNode(node: ClusterNode): void {
    const file = join(node.folder, 'patroni.yml')
    node.patroni = this.#spawn(this.#programs.patroni, [file], node.name)
  }

  /** Ends everything that was started, and removes the folder; with `keepsLogs` only the data. */
  async close(keepsLogs = false): Promise<void> {
    const stopping = this.nodes.map(async (node) => {
      // Without the others, Patroni would wait for etcd instead of stopping PostgreSQL.
      await this.kill(node)
    })
    await Promise.all(stopping)
    for (const child of this.#others) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    const folders = keepsLogs
      ? [join(this.folder, 'etcd'), ...this.nodes.map(({ folder }) => folder)]
      : [this.folder]
    for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #startEtcd(peer: number): Promise<void> {
    const [client, other] = [`http://127.0.0.1:${this.#etcdPort}`, `http://127.0.0.1:${peer}`]
    const args = [
      ...['--name', 'etcd', '--data-dir', await this.#createFolder('etcd')],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', other, '--initial-advertise-peer-urls', other],
      ...['--initial-cluster', `etcd=${other}`],
    ]
    this.#others.push(this.#spawn(this.#programs.etcd, args, 'etcd'))
    await pollUntil('etcd listens', () => isListening(this.#etcdPort))
  }

  async #startHaproxy(): Promise<void> {
    const file = join(this.folder, 'haproxy.cfg')
    await writeFile(file, haproxyFile(this.port, this.nodes))
    this.#others.push(this.#spawn(this.#programs.haproxy, ['-db', '-f', file], 'haproxy'))
    await pollUntil('haproxy listens', () => isListening(this.port))
  }

  async #prepare(node: ClusterNode): Promise<void> {
    await this.#createFolder(node.name)
    const { postgres: programs } = this.#programs
    const settings = { node, etcd: this.#etcdPort, folder: node.folder, programs }
    await writeFile(join(node.folder, 'patroni.yml'), patroniFile(settings))
  }

  /** A folder that belongs to the user of the servers. */
  async #createFolder(name: string): Promise<string> {
    const path = join(this.folder, name)
    await mkdir(path, { mode: 0o700 })
    const { user } = this.#programs
    if (user !== undefined) chownSync(path, user.uid, user.gid)
    return path
  }

  #spawn(program: string, args: readonly string[], name: string): ChildProcess {
    const log = openSync(join(this.folder, `${name}.log`), 'a')
    const child = spawn(program, args, {
      ...this.#programs.user,
      cwd: this.folder,
      stdio: ['ignore', log, log],
      env: { PATH: `${this.#programs.postgres}:${process.env.PATH ?? ''}`, HOME: this.folder },
    })
    closeSync(log)
    child.on('error', () => undefined)
    return child
  }

  /** The members as any of the servers that respond sees them. */
  async #members(): Promise<readonly Member[]> {
    for (const { rest } of this.nodes) {
      try {
        const signal = AbortSignal.timeout(2000)
        const response = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal })
        const { members } = (await response.json()) as { readonly members?: readonly Member[] }
        if (members !== undefined) return members
      } catch {
        // This server is down.
      }
    }
    return []
  }
}

/**
 * @param wait milliseconds between two looks
 * @throws {Error} with the name of the condition, after `maxWait`
 */
export async function pollUntil(
  name: string,
  isReached: () => boolean | Promise<boolean>,
  wait = interval,
): Promise<void> {
  const end = performance.now() + maxWait
  while (!(await isReached())) {
    if (performance.now() > end) throw new Error(`Not reached within ${maxWait / 1000} s: ${name}.`)
    await pause(wait)
  }
}

function addressOf(port: number): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}

/** The process in the first line of `postmaster.pid`. */
function postmasterOf({ folder }: ClusterNode): number | undefined {
  try {
    const text = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8')
    return Number(text.split('\n')[0])
  } catch {
    return undefined
  }
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const names = await readdir('/proc')
  return names
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === parent)
    .map(Number)
}

/** Reads the fourth field of `/proc/<id>/stat`. The second one may contain spaces and ends with a bracket. */
function parentOf(process: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${process}/stat`, 'utf8')
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function killProcess(id: number | undefined): void {
  if (id === undefined) return
  try {
    process.kill(id, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
