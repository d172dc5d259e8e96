/** The documentation site is built without network access, and its search finds the guides. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  displays,
  expectAccessible,
  findProblems,
  forEachDisplay,
} from '../browser/accessibility.js'
import { withPage, type Visit } from '../browser/open-page.js'
import { root } from '../repository/source-files.js'

const site = join(root, 'dist/site')
const read = (path: string) => readFileSync(join(site, path), 'utf8')

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
}

/** Serves the files like a static host. */
function serve(): Server {
  return createServer((request, response) => {
    const path = decodeURI(request.url ?? '/').replace(/[?#].*$/, '')
    const file = path.endsWith('/') ? `${path}index.html` : path
    try {
      const content = readFileSync(join(site, file))
      response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream')
      response.end(content)
    } catch {
      response.writeHead(404).end()
    }
  })
}

let server: Server
let origin: string

beforeAll(async () => {
  const built = spawnSync(process.execPath, ['docs/build-site.mjs'], {
    ...{ cwd: root, encoding: 'utf8' },
    // Requests to other hosts are refused.
    env: { ...process.env, HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' },
  })
  if (built.status !== 0) throw new Error(built.stderr + built.stdout)
  server = serve().listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}, 600_000)

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Opens a page of the site, and expects no error and no request to another host. */
async function visit(path: string, use: (page: Visit['page']) => Promise<void>): Promise<void> {
  await withPage(origin, async ({ page, errors, strangers }) => {
    await page.goto(`${origin}${path}`)
    await use(page)
    expect([...errors, ...strangers]).toEqual([])
  })
}

describe('the files of the site', () => {
  it('are the pages, their Markdown, the API reference and llms.txt', () => {
    expect(read('tutorial/01-first-route.html')).toContain('A controller is a class')
    expect(read('api/filigree.html')).toContain('id="bootstrap"')
    expect(read('api/filigree/throttle.html')).toContain('id="throttle"')
    expect(read('pages/routes.md')).toMatch(/^# Routes/)
    expect(read('llms.txt')).toContain('- [1. A first route](pages/tutorial/01-first-route.md)')
    expect(read('llms-full.txt')).toContain('# Routes')
  })

  it('have no link to a missing file or heading', () => {
    const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.html') && path !== '404.html',
    )
    const anchors = new Map(
      pages.map((page) => [
        page,
        new Set([...read(page).matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id)),
      ]),
    )
    const dead = pages.flatMap((page) =>
      [...read(page).matchAll(/<a\b[^>]*\bhref="([^"]+)"/g)]
        .map(([, to = '']) => new URL(to.replaceAll('&amp;', '&'), `http://site.test/${page}`))
        .filter(({ origin }) => origin === 'http://site.test')
        .filter(({ pathname, hash }) => {
          const path = decodeURI(pathname.slice(1))
          const file = path === '' || path.endsWith('/') ? `${path}index.html` : path
          if (!file.endsWith('.html')) return !existsSync(join(site, file))
          const ids = anchors.get(file)
          return ids === undefined || (hash !== '' && !ids.has(decodeURIComponent(hash.slice(1))))
        })
        .map(({ pathname, hash }) => `${page}: ${pathname}${hash}`),
    )
    expect([...new Set(dead)]).toEqual([])
  })

  it('load nothing from another host', () => {
    expect(read('index.html')).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="https?:/)
  })
})

describe('the site in a browser', () => {
  it.each<[string, RegExp]>([
    ['passkeys', /^\/passkeys\.html/],
    ['rate limit', /^\/(?:rate-limits|tutorial\/11-invitations-and-limits)\.html/],
    ['N+1', /^\/records\/relations\.html/],
    ['csrf', /^\/authentication\.html/],
    ['multi tenant', /^\/recipes\/many-customers\.html/],
    ['migrate rename', /^\/records\/migrations\.html/],
    ['2fa', /^\/recipes\/second-factor\.html/],
    ['pagination', /^\/records\/queries\.html/],
    ['file upload', /^\/(?:routes|tutorial\/08-uploads)\.html/],
    ['postgres', /^\/(?:records\/postgresql-in-production|production)\.html/],
  ])('finds the guide for %p among the first three results', async (query, guide) => {
    await visit('/', async (page) => {
      await page.getByRole('button', { name: 'Search' }).first().click()
      await page.getByRole('searchbox').fill(query)
      const results = page.locator('.VPLocalSearchBox .results a')
      await results.first().waitFor()
      const addresses = await results.evaluateAll((links) =>
        links.slice(0, 3).map((link) => link.getAttribute('href')),
      )
      expect(addresses).toEqual(expect.arrayContaining([expect.stringMatching(guide)]))
    })
  })

  it('has links to the next and the previous page', async () => {
    await visit('/tutorial/01-first-route.html', async (page) => {
      expect(await page.locator('.edit-link-button').getAttribute('href')).toMatch(
        /\/edit\/main\/docs\/tutorial\/01-first-route\.md$/,
      )
      await page.locator('.pager-link.next').click()
      await page.waitForURL('**/tutorial/02-checked-input.html')
      await page.locator('.pager-link.prev').click()
      await page.waitForURL('**/tutorial/01-first-route.html')
    })
  })

  it('shows the commands for two databases as tabs', async () => {
    await visit('/production.html', async (page) => {
      const tabs = page.locator('.vp-code-group').first()
      await tabs.getByText('PostgreSQL', { exact: true }).click()
      await tabs.getByText('pg_dump').waitFor()
    })
  })

  it('has a light and a dark theme', async () => {
    await visit('/', async (page) => {
      const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark'))
      expect(await isDark()).toBe(false)
      await page.locator('.VPNavBarAppearance .VPSwitchAppearance').click()
      expect(await isDark()).toBe(true)
    })
  })
})

describe('the accessibility of the site', () => {
  /** The pages of `docs`, without the API reference, which has one layout. */
  const pages = (): string[] =>
    readdirSync(site, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.html') && !path.startsWith('api/') && path !== '404.html')
      .sort()

  it('has no problem on any page, each in one of four displays', async () => {
    const problems: string[] = []
    await withPage(origin, async ({ page }) => {
      for (const [index, path] of pages().entries()) {
        const [colorScheme, width] = displays[index % displays.length]!
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize({ width, height: 844 })
        await page.goto(`${origin}/${path}`)
        for (const problem of await findProblems(page)) problems.push(`${path}: ${problem}`)
      }
    })
    expect(pages().length).toBeGreaterThan(60)
    expect(problems).toEqual([])
  }, 900_000)

  it('has none in light, dark and on a phone: code, tabs, pictures, tables and the API', async () => {
    await visit('/', async (page) => {
      await forEachDisplay(page, async (display) => {
        for (const path of [
          '/',
          '/routes.html',
          '/production.html',
          '/admin.html',
          '/api/',
          '/api/filigree/throttle.html',
        ]) {
          await page.goto(`${origin}${path}`)
          await expectAccessible(page, `${path}, ${display}`)
        }
      })
    })
  }, 300_000)

  it('has none in the search and in the menus of a phone', async () => {
    await visit('/routes.html', async (page) => {
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await page.getByRole('button', { name: 'Search' }).first().click()
      await page.getByRole('searchbox').fill('passkeys')
      await page.locator('.VPLocalSearchBox .results a').first().waitFor()
      await expectAccessible(page, 'search')
      await page.keyboard.press('Escape')
      await page.setViewportSize({ width: 375, height: 844 })
      await page.getByRole('button', { name: 'mobile navigation' }).click()
      await page.locator('#VPNavScreen').waitFor()
      await expectAccessible(page, 'menu of the site')
      await page.getByRole('button', { name: 'mobile navigation' }).click()
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.locator('.VPSidebar.open').waitFor()
      await expectAccessible(page, 'menu of the pages')
    })
  }, 120_000)

  it('opens a group of the menu with the keyboard', async () => {
    await visit('/routes.html', async (page) => {
      const group = page.getByRole('button', { name: 'Recipes' })
      expect(await group.getAttribute('aria-expanded')).toBe('false')
      await group.focus()
      await page.keyboard.press('Space')
      expect(await group.getAttribute('aria-expanded')).toBe('true')
      await page.keyboard.press('Enter')
      expect(await group.getAttribute('aria-expanded')).toBe('false')
    })
  })
})
