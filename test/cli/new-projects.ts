/**
 * Projects that `filigree new` makes of the packed tarball. Their packages are the repository's, except in the one that is
 * installed from the registry.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { root, type Outcome } from '../openapi/command.js'
import { installPacked, packPackage } from '../toolchains/packed.js'

/** The environment without the settings of this test run. */
export function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const removedNames = ['NODE_OPTIONS', 'NODE_ENV', 'JEST_WORKER_ID', 'FORCE_COLOR']
  const inherited = Object.entries(process.env).filter(([name]) => !removedNames.includes(name))
  return { ...Object.fromEntries(inherited), NO_COLOR: '1', ...more }
}

export function run(cwd: string, command: readonly string[], more = {}): Promise<Outcome> {
  const [program = '', ...args] = command
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env: environment(more) }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: stdout + stderr })
    })
  })
}

/** Whether packages can be installed: npm's registry answers. */
export async function canReachRegistry(): Promise<boolean> {
  const { output } = await run(tmpdir(), ['npm', 'config', 'get', 'registry'])
  const [registry] = output.match(/http\S+/) ?? []
  return fetch(String(registry), { signal: AbortSignal.timeout(10_000) }).then(
    () => true,
    () => false,
  )
}

/** A folder with the packed package, and the projects in it. */
export class NewProjects {
  folder = ''
  readonly #children = new Set<ChildProcess>()

  async open(): Promise<void> {
    this.folder = await realpath(await mkdtemp(join(tmpdir(), 'filigree-project-')))
    await installPacked(this.folder, await packPackage(this.folder))
    const create = join(this.folder, 'node_modules/create-filigree')
    await cp(join(root, 'create'), create, { recursive: true })
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Makes a project whose packages are there already. @returns its folder */
  async make(name: string, ...options: string[]): Promise<string> {
    const cli = join(this.folder, 'node_modules/.bin/filigree')
    const result = await run(this.folder, [cli, 'new', name, ...options, '--no-install'])
    expect(result).toMatchObject({ code: 0 })
    await symlink(join(this.folder, 'node_modules'), join(this.folder, name, 'node_modules'))
    return join(this.folder, name)
  }

  /** Starts a program that ends with the suite. */
  spawn(cwd: string, command: readonly string[], more = {}): ChildProcess {
    const [program = '', ...args] = command
    const child = spawn(program, args, { cwd, env: environment({ PORT: '0', ...more }) })
    this.#children.add(child)
    return child
  }

  /**
   * Starts a program and waits until it listens.
   *
   * @returns its address, the path of the link for the first administrator, and what stops it
   */
  async start(cwd: string, command: readonly string[], more = {}) {
    const child = this.spawn(cwd, command, more)
    let output = ''
    child.stderr?.on('data', (data: Buffer) => (output += data.toString()))
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.on('data', (data: Buffer) => {
        output += data.toString()
        const found = /listening at (http:\/\/[^\s"]+)/.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      })
      child.once('exit', () => {
        reject(new Error(output))
      })
    })
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
    const link = /\/administrator\?token=[\w-]{43}/.exec(output)?.[0] ?? ''
    return { url, link, stop }
  }
}
