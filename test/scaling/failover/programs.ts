/** Finds the programs of a cluster: etcd, Patroni, haproxy and PostgreSQL. The packages of Debian have these names. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Programs {
  readonly etcd: string
  readonly patroni: string
  readonly haproxy: string
  /** The folder with `postgres`, `initdb` and `pg_rewind`. */
  readonly postgres: string
  /** The user that runs the servers, because PostgreSQL does not run as root. Undefined: the current user. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

/** What is missing, in words. */
export class MissingPrograms extends Error {}

/** Debian's folders of programs that administrators run. They are not on the path of every user. */
const furtherFolders = ['/usr/sbin', '/usr/local/sbin']
/** Debian's folder for all versions of PostgreSQL. */
const versions = '/usr/lib/postgresql'

/** @throws {MissingPrograms} with one line for each missing program */
export function findPrograms(): Programs {
  const missing: string[] = []
  const require = (name: string, found: string | undefined): string => {
    if (found === undefined) missing.push(name)
    return found ?? ''
  }
  const programs = {
    etcd: require('etcd (Debian: etcd, or etcd-server)', findProgram('etcd')),
    patroni: require('patroni (Debian: patroni)', findProgram('patroni')),
    haproxy: require('haproxy (Debian: haproxy)', findProgram('haproxy')),
    postgres: require('PostgreSQL with pg_rewind (Debian: postgresql)', findPostgres()),
    user: process.getuid?.() === 0 ? findUser() : undefined,
  }
  if (process.getuid?.() === 0 && programs.user === undefined)
    missing.push('a user "postgres", because PostgreSQL does not run as root')
  if (missing.length === 0) return programs
  throw new MissingPrograms(
    ['The failover suite needs:', ...missing.map((one) => `  - ${one}`)].join('\n'),
  )
}

function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...furtherFolders]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** The newest version that Debian has installed, or the one on the path. */
function findPostgres(): string | undefined {
  const installed = isFolder(versions) ? readdirSync(versions) : []
  const newest = installed
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(versions, version, 'bin'))
  const folders = [...newest, ...(process.env.PATH ?? '').split(delimiter)]
  return folders.find((folder) =>
    ['postgres', 'initdb', 'pg_rewind'].every((name) => isExecutable(join(folder, name))),
  )
}

function findUser(): Programs['user'] {
  const idOf = (option: string): number =>
    Number(execFileSync('id', [option, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { uid: idOf('-u'), gid: idOf('-g') }
  } catch {
    return undefined
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path)
    return true
  } catch {
    return false
  }
}
