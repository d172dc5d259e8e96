/**
 * A reader of the pages: a folder, a shell, and a server that is restarted after each change. `npm`, `npx` and `curl` are
 * the real ones, but packages come from the repository, and the port is a free one.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mergeDeclarations, type Step } from './pages.js'
import { waitUntil } from '../wait-until.js'
import { isListening } from '../free-port.js'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** Commands that run until they are ended, and the file that they run. */
const serverCommand =
  /^(?:npm run dev|((?:[A-Z_]+=\S+ )*)(npx tsx|node|bun|deno run -A) ([\w/]*\bmain\.\w+))$/

export class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'filigree-tutorial-'))
  readonly #env: NodeJS.ProcessEnv
  readonly #shell: ChildProcess
  #server: ChildProcess | undefined
  #serverLog = ''
  #isStale = false
  #main = ''
  /** The command of another runtime. */
  #runtime: readonly string[] = []
  #ended = 0
  #printed = ''

  constructor(
    readonly port: number,
    env: Readonly<Record<string, string>>,
  ) {
    if (!existsSync(join(root, 'dist/server/cli.js')))
      throw new Error('The tutorial uses the package as it is built: npm run build.')
    const bin = `${this.folder}-bin`
    mkdirSync(bin)
    for (const [name, text] of Object.entries(shims))
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}`, { mode: 0o755 })
    const { PATH = '', HOME = '' } = process.env
    this.#env = {
      ...{ PATH: `${bin}${delimiter}${PATH}`, HOME, PORT: String(port), LOG_LEVEL: 'warn' },
      npm_config_loglevel: 'silent',
      ...env,
    }
    installPackages(this.folder)
    this.#shell = spawn('bash', ['--noprofile', '--norc'], {
      ...{ cwd: this.folder, env: this.#env, stdio: ['pipe', 'pipe', 'pipe'] },
      // In a separate process group, so that background processes end with it.
      detached: true,
    })
    this.#shell.stdin?.write('exec 2>&1\n')
    this.#shell.stdout?.on('data', (chunk) => {
      this.#printed += String(chunk)
    })
  }

  /** @returns the output of a command; empty for a file */
  async follow(step: Step): Promise<string> {
    if (step.kind === 'file') return this.#write(step)
    const [isServer, settings = '', runtime = '', file = 'src/main.ts'] =
      serverCommand.exec(step.command) ?? []
    if (isServer !== undefined) {
      this.#main = file
      this.#runtime = /^(?:bun|deno)/.test(runtime) ? runtime.split(' ') : []
      for (const setting of settings.trim().split(' ')) {
        const [name = '', value] = setting.split('=')
        if (value !== undefined) this.#env[name] = value
      }
      return this.#start()
    }
    if (this.#isStale) await this.#start()
    return this.#run(step.command.replaceAll('localhost:3000', `localhost:${this.port}`))
  }

  /** @returns the compiler's errors for the project; empty if there are none */
  checkTypes(): string {
    if (!existsSync(join(this.folder, 'tsconfig.json'))) return ''
    const compiler = join(root, 'node_modules/typescript7/bin/tsc')
    const args = [compiler, '-p', this.folder, '--noEmit', '--pretty', 'false']
    return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
    if (this.#shell.pid !== undefined) process.kill(-this.#shell.pid, 'SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
    rmSync(`${this.folder}-bin`, { recursive: true, force: true })
  }

  #write({ file, text, isCompleteFile }: Step & { kind: 'file' }): string {
    const path = join(this.folder, this.#resolve(file))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, isCompleteFile ? text : mergeDeclarations(readFileSync(path, 'utf8'), text))
    this.#isStale = this.#server !== undefined
    return ''
  }

  /** Resolves a name with `…` to an existing file. */
  #resolve(file: string): string {
    const [start, end] = file.split('…')
    if (start === undefined || end === undefined) return file
    const folder = dirname(`${start}x`)
    const found = readdirSync(join(this.folder, folder)).map((name) => join(folder, name))
    return found.find((name) => name.startsWith(start) && name.endsWith(end)) ?? file
  }

  async #run(command: string): Promise<string> {
    const mark = `ended-${++this.#ended}`
    const end = `\n${mark}\n`
    this.#printed = ''
    this.#shell.stdin?.write(`${command}\nprintf '\\n%s\\n' '${mark}'\n`)
    while (!this.#printed.endsWith(end)) await once(this.#shell.stdout ?? this.#shell, 'data')
    return this.#printed.slice(0, -end.length)
  }

  async #start(): Promise<string> {
    await this.#stop()
    this.#isStale = false
    this.#serverLog = ''
    const flags = existsSync(join(this.folder, '.env')) ? ['--env-file=.env'] : []
    const [command = process.execPath, ...options] = this.#runtime
    const args = this.#runtime.length > 0 ? options : ['--import', 'tsx', ...flags]
    const server = spawn(command, [...args, this.#main], { cwd: this.folder, env: this.#env })
    this.#server = server
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (chunk) => {
        this.#serverLog += String(chunk)
      })
    await waitUntil(() => {
      if (server.exitCode !== null) throw new Error(`The server ended:\n${this.#serverLog}`)
      return isListening(this.port)
    })
    return ''
  }

  async #stop(): Promise<void> {
    if (this.#server === undefined || this.#server.exitCode !== null) return
    this.#server.kill('SIGTERM')
    await once(this.#server, 'exit')
  }
}

/** The first folder in the PATH of the shell. */
const shims = {
  // A terminal shows no transfer progress.
  curl: 'PATH=${PATH#*:}\nexec curl -sS "$@"\n',
  // The packages are already there.
  npm: `case "$1" in install) for each in packages/*/; do
  test -f "$each/package.json" || continue
  name=$(node -p "require('./$each/package.json').name")
  mkdir -p "node_modules/$(dirname "$name")" && ln -sfn "$PWD/$each" "node_modules/$name"
done; exit 0;; esac
PATH=\${PATH#*:}
exec npm "$@"
`,
}

/** The repository's packages, including its own built package. */
function installPackages(folder: string): void {
  const to = join(folder, 'node_modules')
  mkdirSync(join(to, '.bin'), { recursive: true })
  // Packages that recipes use, such as otpauth, are among the tools.
  for (const from of [join(root, 'node_modules'), join(root, 'test/tools/node_modules')])
    for (const name of readdirSync(from))
      if (!name.startsWith('.') && !existsSync(join(to, name)))
        symlinkSync(join(from, name), join(to, name))
  for (const name of ['tsc', 'tsx', 'esbuild'])
    symlinkSync(join(root, 'node_modules/.bin', name), join(to, '.bin', name))
  symlinkSync(join(root, 'test/tools/node_modules/.bin/vitest'), join(to, '.bin/vitest'))
  symlinkSync(root, join(to, 'filigree'))
  const command = `#!/usr/bin/env node\nimport(${JSON.stringify(join(root, 'dist/server/cli.js'))})\n`
  writeFileSync(join(to, '.bin/filigree'), command, { mode: 0o755 })
}
