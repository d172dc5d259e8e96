/**
 * How long a change takes until it answers: `npm run build && node bench/restarts.mjs [--changes 20] [--files 50]`.
 *
 * Prints, as JSON, the medians (ms) of `filigree dev` after a change, and of a cold start of the same project by tsx.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const options = {
  changes: { type: 'string', default: '20' },
  files: { type: 'string', default: '50' },
}
const { values } = parseArgs({ options })
const folder = mkdtempSync(join(tmpdir(), 'filigree-restarts-'))
mkdirSync(join(folder, 'node_modules'))
mkdirSync(join(folder, 'src'))
for (const name of ['tsx', 'typescript', '@types']) {
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
}
symlinkSync(root, join(folder, 'node_modules/filigree'))

const write = (file, text) => writeFileSync(join(folder, file), text)
const controller = (number, answer) => `import { Controller, Field, Get, Post } from 'filigree'

export class New${number} {
  @Field('string', { minLength: 3 }) title!: string
}

@Controller('/things/${number}')
export class ThingController${number} {
  @Get list() {
    return { answer: ${answer} }
  }

  @Post('/', { body: New${number} }) create(body: New${number}) {
    return body
  }
}
`
const numbers = Array.from({ length: Number(values.files) - 2 }, (_, number) => number)
write('package.json', '{ "type": "module" }')
write(
  'tsconfig.json',
  JSON.stringify({
    compilerOptions: {
      ...{ target: 'es2023', module: 'nodenext', strict: true, skipLibCheck: true },
      ...{ experimentalDecorators: true, noEmit: true, types: [] },
    },
    include: ['src'],
  }),
)
for (const number of numbers) write(`src/thing-${number}.ts`, controller(number, 0))
write(
  'src/app.ts',
  `import { Module } from 'filigree'
${numbers.map((number) => `import { ThingController${number} } from './thing-${number}.js'`).join('\n')}
@Module({ controllers: [${numbers.map((number) => `ThingController${number}`).join(', ')}] })
export class AppModule {}
`,
)
write(
  'src/main.ts',
  `import { bootstrap } from 'filigree'
import { AppModule } from './app.js'
await bootstrap(AppModule, { logger: false })
`,
)

const port = '3977'
const url = `http://127.0.0.1:${port}/things/7`
/** Until the application answers so. */
const answers = async (wanted) => {
  for (;;) {
    const answer = await fetch(url).then(
      (got) => got.json(),
      () => undefined,
    )
    if (answer?.answer === wanted) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
const start = (args) =>
  spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, PORT: port, TSX_TSCONFIG_PATH: undefined },
    stdio: 'ignore',
  })
const end = (child) =>
  new Promise((resolve) => {
    child.once('exit', resolve)
    child.kill()
  })
const median = (times) => Math.round(times.sort((a, b) => a - b)[Math.floor(times.length / 2)])

const changes = Array.from({ length: Number(values.changes) }, (_, index) => index + 1)
const [restarts, starts] = [[], []]
const dev = start([join(root, 'dist/server/cli.js'), 'dev', 'src/main.ts'])
await answers(0)
for (const change of changes) {
  // The type checker is idle.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const began = performance.now()
  write('src/thing-7.ts', controller(7, change))
  await answers(change)
  restarts.push(performance.now() - began)
}
await end(dev)
for (const change of changes) {
  write('src/thing-7.ts', controller(7, -change))
  const began = performance.now()
  const child = start(['--import', 'tsx', 'src/main.ts'])
  await answers(-change)
  starts.push(performance.now() - began)
  await end(child)
}
rmSync(folder, { recursive: true, force: true })
console.log(JSON.stringify({ restart: median(restarts), 'cold start by tsx': median(starts) }))
