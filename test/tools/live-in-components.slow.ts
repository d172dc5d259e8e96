/** Runs the code blocks of docs/live-in-components.md in Chromium, with an application that has records. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Module,
  Record as Table,
  reply,
  type Application,
} from 'filigree'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../client/browser.js'

@Table()
class City {
  @Field('id') id!: number
  @Field('text') name!: string
}

@Controller('/cities', { crud: City })
class CityController {}

const scripts = new Map<string, string>()

@Controller('/pages')
class PageController {
  @Get('/<name:slug>') page(name: string) {
    const html = `<!doctype html><title>${name}</title><ul></ul><script type="module" src="/pages/${name}/script"></script>`
    return reply(html).type('text/html; charset=utf-8')
  }

  @Get('/<name:slug>/script') script(name: string) {
    return reply(scripts.get(name) ?? '').type('text/javascript; charset=utf-8')
  }
}

@Module({ records: [City], controllers: [CityController, PageController] })
class CitiesModule {}

const path = '/cities?orderBy=id'
const path2 = '/cities?orderBy=-id'

/** The program of a page that renders the component of its framework, which is the module `./block`. */
const pages: Readonly<Record<string, string>> = {
  react: `
    import { createElement as h, useState } from 'react'
    import { createRoot } from 'react-dom/client'
    import { useLive } from './block'
    function Cities() {
      const [path, setPath] = useState('${path}')
      window.turn = () => setPath('${path2}')
      const { data = [] } = useLive(path)
      return data.map(({ id, name }) => h('li', { key: id }, name))
    }
    createRoot(document.querySelector('ul')).render(h(Cities))`,
  vue: `
    import { createApp, h, ref } from 'vue'
    import { useLive } from './block'
    createApp({
      setup() {
        const path = ref('${path}')
        window.turn = () => { path.value = '${path2}' }
        const { data } = useLive(path)
        return () => (data.value ?? []).map(({ name }) => h('li', name))
      },
    }).mount('ul')`,
  svelte: `
    import { live } from './block'
    const draw = (rows) => document.querySelector('ul').replaceChildren(
      ...(rows ?? []).map(({ name }) => Object.assign(document.createElement('li'), { textContent: name })))
    let stop = live('${path}').subscribe(draw)
    window.turn = () => { stop(); stop = live('${path2}').subscribe(draw) }`,
  solid: `
    import { createEffect, createRoot, createSignal } from 'solid-js'
    import { createLive } from './block'
    createRoot(() => {
      const [path, setPath] = createSignal('${path}')
      window.turn = () => setPath('${path2}')
      const cities = createLive(path)
      createEffect(() => document.querySelector('ul').replaceChildren(
        ...(cities() ?? []).map(({ name }) => Object.assign(document.createElement('li'), { textContent: name }))))
    })`,
  tanstack: `
    import { QueryClient, QueryObserver } from '@tanstack/query-core'
    import { followQuery } from './block'
    const client = new QueryClient()
    const draw = (rows) => document.querySelector('ul').replaceChildren(
      ...(rows ?? []).map(({ name }) => Object.assign(document.createElement('li'), { textContent: name })))
    new QueryObserver(client, { queryKey: ['cities'], enabled: false }).subscribe(({ data }) => draw(data))
    let stop = followQuery(client, ['cities'], '${path}')
    window.turn = () => { stop(); stop = followQuery(client, ['cities'], '${path2}') }`,
}

let app: Application
let browser: Browser
beforeAll(async () => {
  const text = await readFile('docs/live-in-components.md', 'utf8')
  const blocks = [...text.matchAll(/## (\w+)[^\n]*\n+```ts\n(.*?)```/gs)]
  await Promise.all(
    blocks.map(async ([, title = '', block = '']) => {
      const name = title.toLowerCase()
      scripts.set(name, await bundle(block, pages[name] ?? ''))
    }),
  )
  app = await bootstrap(CitiesModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: 'sqlite::memory:',
    env: {},
  })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser.close()
  await app.close()
})

async function bundle(block: string, page: string): Promise<string> {
  const result = await build({
    stdin: { contents: page, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'esm',
    // The paths of package.json are for the published files, not for the source.
    ignoreAnnotations: true,
    conditions: ['browser', 'production'],
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: { 'filigree/client': './client/index.ts', 'filigree/client/live': './client/live.ts' },
    plugins: [
      {
        name: 'block',
        setup(the) {
          the.onResolve({ filter: /^\.\/block$/ }, () => ({ path: 'block', namespace: 'block' }))
          the.onLoad({ filter: /./, namespace: 'block' }, () => ({
            contents: block,
            loader: 'ts',
            resolveDir: import.meta.dirname,
          }))
        },
      },
    ],
  })
  return result.outputFiles[0]?.text ?? ''
}

describe('the page of each framework', () => {
  it.each(Object.keys(pages))(
    'of %s shows the rows, their changes, and another path',
    async (name) => {
      const cities = app.get(Database).records(City)
      for (const { id } of await cities.list({})) await cities.delete(id)
      const page = await browser.newPage()
      const errors: string[] = []
      page.on('pageerror', ({ message }) => {
        errors.push(message)
      })
      const shows = (names: string) =>
        page.waitForFunction(
          (expected) =>
            [...document.querySelectorAll('li')].map((one) => one.textContent).join() === expected,
          names,
        )
      await page.goto(`${app.url}/pages/${name}`)
      const { id } = await cities.create({ name: 'Rome' })
      await shows('Rome')
      await cities.create({ name: 'Oslo' })
      await shows('Rome,Oslo')
      await cities.update(id, { name: 'Roma' })
      await shows('Roma,Oslo')
      await page.evaluate(() => {
        ;(globalThis as unknown as { turn: () => void }).turn()
      })
      await shows('Oslo,Roma')
      await cities.delete(id)
      await shows('Oslo')
      expect(errors).toEqual([])
      await page.close()
    },
  )
})
