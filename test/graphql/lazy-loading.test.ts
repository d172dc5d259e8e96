import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from '@jest/globals'
import { bundlePackage } from '../bundle-program.js'

const packageFolder = bundlePackage('lazy-loading')
afterAll(() => {
  rmSync(packageFolder, { recursive: true })
})

const run = promisify(execFile)

/** Names of the GraphQL packages that a program has loaded. */
async function loadedBy(program: string): Promise<string[]> {
  const end = `
    const { createRequire } = await import('node:module')
    const files = Object.keys(createRequire(import.meta.url).cache)
    const names = ['graphql', 'graphql-http']
    console.log(JSON.stringify(names.filter((name) => files.some((file) => file.includes('/node_modules/' + name + '/')))))`
  const source = `import { bootstrap, GraphQL, Module } from './dist/server/index.js'\n${program}\n${end}`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: packageFolder,
  })
  return JSON.parse(stdout) as string[]
}

const start = 'const app = await bootstrap(App, { listen: false, logger: false, env: {} })'
const instance = `const graphql = new GraphQL()
  graphql.schema.addQuery('a', { type: 'Int', resolve: () => 1 })
  graphql.registerRoute()`

describe('an application', () => {
  it.each<[string, string, string[]]>([
    ['without GraphQL loads nothing of it', `class App {}; Module()(App); ${start}`, []],
    [
      'with GraphQL loads what runs it',
      `${instance}; class App {}; Module({ graphql: [graphql] })(App); ${start}`,
      ['graphql'],
    ],
    [
      'answers operations by POST without more',
      `${instance}; class App {}; Module({ graphql: [graphql] })(App); ${start}
       await app.inject({ url: '/graphql', json: { query: '{ a }' } })`,
      ['graphql'],
    ],
    [
      'loads what negotiates with the first operation by GET',
      `${instance}; class App {}; Module({ graphql: [graphql] })(App); ${start}
       await app.inject('/graphql?query={a}')`,
      ['graphql', 'graphql-http'],
    ],
    [
      'loads no package for the page of the IDE',
      `${instance}; class App {}; Module({ graphql: [graphql] })(App); ${start}
       await app.inject('/graphql')`,
      ['graphql'],
    ],
  ])('%s', async (_what, program, names) => {
    expect(await loadedBy(program)).toEqual(names)
  })
})
