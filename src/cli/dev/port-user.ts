/** Which program listens at a port of this machine. */
import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'

/** @returns `process 1234 (node dist/main.js)`, or `another program` where nobody says which */
export async function findPortUser(port: number): Promise<string> {
  const pid = (await findByProc(port)) ?? (await findByLsof(port))
  if (pid === undefined) return 'another program'
  const command = await commandOf(pid)
  return `process ${pid}${command === '' ? '' : ` (${command})`}`
}

/** Linux says so in files. */
async function findByProc(port: number): Promise<string | undefined> {
  const inodes = new Set<string>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(file, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      // 0A: listening.
      if (state === '0A' && Number.parseInt(local.split(':')[1] ?? '', 16) === port)
        inodes.add(`socket:[${inode}]`)
    }
  }
  if (inodes.size === 0) return undefined
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue
    for (const entry of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${entry}`).catch(() => '')
      if (inodes.has(target)) return pid
    }
  }
  return undefined
}

function findByLsof(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const query = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fp']
    execFile('lsof', query, (_error, out) => {
      resolve(/^p(\d+)$/m.exec(out)?.[1])
    })
  })
}

async function commandOf(pid: string): Promise<string> {
  const own = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  const text = own?.replaceAll('\0', ' ') ?? (await commandByPs(pid))
  // Arguments may hold secrets: the program and its file say enough.
  return text.trim().split(/\s+/).slice(0, 2).join(' ')
}

function commandByPs(pid: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('ps', ['-p', pid, '-o', 'command='], (_error, out) => {
      resolve(out)
    })
  })
}
