import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  Controller,
  Doc,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  type UploadedFile,
} from 'filigree'
import type { Locator, Page, Response } from 'playwright-core'
import { displays, seriousProblems } from '../browser/accessibility.js'
import { withPage } from '../browser/open-page.js'
import { FixtureModule } from './fixture-application.js'
import { PartsModule } from './sixty-records.js'

const apiKey = 'a-key-for-the-tests-alone'
const options = { port: 0, host: '127.0.0.1', logger: false, env: { APP_API_KEY: apiKey } } as const
const time = 120_000
let app: Application

beforeAll(async () => {
  app = await bootstrap(FixtureModule, options)
})

afterAll(() => app.close())

describe('/swagger in a browser', () => {
  it(
    'authorizes, tries routes out and reaches no other origin',
    async () => {
      const result = await withPage(app.url, async ({ page, errors, strangers }) => {
        await page.goto(`${app.url}/swagger`)
        const anonymous = await tryOut(page, 'items-itemCreate')
        await authorize(page)
        const read = await tryOut(page, 'items-itemShow', { id: '7' })
        const written = await tryOut(page, 'items-itemCreate')
        const apart = await tryOut(page, 'items-itemByName', { name: 'Lamp' })
        const title = await page.title()
        return { title, anonymous, read, written, apart, errors: notOf401(errors), strangers }
      })
      expect(result).toEqual({
        title: 'filigree',
        anonymous: '401',
        read: '200',
        written: '201',
        apart: '200',
        errors: [],
        strangers: [],
      })
    },
    time,
  )

  it(
    'keeps the token when the page is opened again',
    async () => {
      const written = await withPage(app.url, async ({ page }) => {
        await page.goto(`${app.url}/swagger/`)
        await authorize(page)
        await page.reload()
        return await tryOut(page, 'items-itemCreate')
      })
      expect(written).toBe('201')
    },
    time,
  )

  it(
    'stores the token for the tab only, until "Logout"',
    async () => {
      const result = await withPage(app.url, async ({ page }) => {
        await page.goto(`${app.url}/swagger`)
        await authorize(page)
        const stored = await page.evaluate(storedText)
        await page.locator('.btn.authorize').first().click()
        await page.getByRole('button', { name: 'Logout' }).click()
        await page.locator('.btn-done').click()
        await page.reload()
        const written = await tryOut(page, 'items-itemCreate')
        return { stored, left: await page.evaluate(storedText), written }
      })
      expect(result.stored).toEqual([expect.stringContaining(apiKey), '{}'])
      expect(result.left).toEqual(['{}', '{}'].map(() => expect.not.stringContaining(apiKey)))
      expect(result.written).toBe('401')
    },
    time,
  )

  it(
    'asks for a token where the document is secured',
    async () => {
      await using secured = await bootstrap(FixtureModule, { ...options, docs: { secured: true } })
      const result = await withPage(secured.url, async ({ page, errors, strangers }) => {
        await page.goto(`${secured.url}/swagger`)
        await page.fill('#token-text', 'not the key')
        await page.click('#token button')
        await page.waitForFunction("document.getElementById('token-error').textContent !== ''")
        const message = await page.textContent('#token-error')
        await page.fill('#token-text', apiKey)
        await page.click('#token button')
        await page.locator('.authorization__btn .locked').first().waitFor()
        const written = await tryOut(page, 'items-itemCreate')
        await page.reload()
        const again = await tryOut(page, 'items-itemCreate')
        return { message, written, again, errors: notOf401(errors), strangers }
      })
      expect(result).toEqual({
        message: 'This token is not accepted.',
        written: '201',
        again: '201',
        errors: [],
        strangers: [],
      })
    },
    time,
  )

  it(
    'tries uploads of routes that do not name their files',
    async () => {
      await using uploads = await bootstrap(UploadModule, options)
      const result = await withPage(uploads.url, async ({ page, errors }) => {
        await page.goto(`${uploads.url}/swagger`)
        await open(page, 'Upload-uploadAdd')
        const block = page.locator('#operations-Upload-uploadAdd')
        await beginTrying(block)
        await block.getByLabel('Name of the file').fill('photo')
        await block.getByLabel('File', { exact: true }).setInputFiles({
          ...{ name: 'lamp.txt', mimeType: 'text/plain', buffer: Buffer.from('a lamp') },
        })
        await block.getByText('photo: lamp.txt').waitFor()
        const response = await execute(page, block)
        return { status: response.status(), body: await response.json(), errors }
      })
      expect(result).toEqual({ status: 200, body: { size: 6 }, errors: [] })
    },
    time,
  )

  it(
    'shows texts of @Doc and runs none of them',
    async () => {
      await using hostile = await bootstrap(HostileModule, {
        ...options,
        docs: { title: evil('title'), description: evil('about'), tags: { hostile: evil('tag') } },
      })
      const result = await withPage(hostile.url, async ({ page, strangers }) => {
        await page.goto(`${hostile.url}/swagger?url=${hostile.url}/other.json`)
        await open(page, 'hostile-hostileShow')
        await page.waitForLoadState('networkidle')
        const ran = await page.evaluate('Object.keys(window).filter((name) => /^ran_/.test(name))')
        const summary = await page.locator('.opblock-summary-description').first().textContent()
        return { ran, summary, strangers }
      })
      expect(result).toEqual({ ran: [], summary: evil('summary'), strangers: [] })
    },
    time,
  )
})

describe('/swagger of 60 records', () => {
  let many: Application
  beforeAll(async () => {
    many = await bootstrap(PartsModule, { ...options, database: 'sqlite::memory:' })
  })
  afterAll(() => many.close())

  it(
    'has closed groups, which a filter opens that leaves few operations',
    () =>
      withPage(many.url, async ({ page, errors, strangers }) => {
        await page.goto(`${many.url}/swagger`)
        const status = page.getByRole('status')
        await status.filter({ hasText: /^\d+ operations$/ }).waitFor()
        const groups = page.locator('.opblock-tag')
        expect(await groups.count()).toBe(61)
        expect(await page.locator('.opblock').count()).toBe(0)
        await page.getByLabel('Filter').fill('part7 post')
        await status.filter({ hasText: /^\d+ of \d+ operations$/ }).waitFor()
        await page.locator('.opblock-post').first().waitFor()
        expect(await groups.count()).toBe(1)
        await page.getByLabel('Filter').fill('part')
        await page.locator('.opblock').first().waitFor({ state: 'detached' })
        expect(await groups.count()).toBe(60)
        await page.getByLabel('Filter').fill('nothing like this')
        await page.getByText('No operation matches the filter.').waitFor()
        await page.getByLabel('Filter').fill('')
        await groups.first().waitFor()
        await groups.first().getByRole('button').press('Enter')
        await page.locator('.opblock').first().waitFor()
        expect({ errors, strangers }).toEqual({ errors: [], strangers: [] })
      }),
    time,
  )

  it(
    'folds the filters of a list, sends one with an operator, and reports no error',
    () =>
      withPage(many.url, async ({ page, errors, strangers }) => {
        const warnings: string[] = []
        page.on('console', (message) => warnings.push(message.text()))
        await page.goto(`${many.url}/swagger`)
        await page.getByLabel('Filter').fill('part7 get')
        await open(page, 'Part7-part7List')
        const block = page.locator('#operations-Part7-part7List')
        const lines = block.locator('.filter-line button')
        expect(await lines.allTextContents()).toEqual(['id', 'name', 'status', 'price', 'dueAt'])
        const operator = block.locator('tr[data-param-name="price.gte"]')
        expect(await operator.count()).toBe(0)
        await beginTrying(block)
        expect(await isInView(block.locator('.execute'))).toBe(true)
        await lines.getByText('price').click()
        await operator.locator('input').fill('5')
        await lines.getByText('price').click()
        await block.getByText('price.gte = 5').waitFor()
        const response = await execute(page, block)
        expect(new URL(response.url()).searchParams.get('price.gte')).toBe('5')
        expect(response.status()).toBe(200)
        await open(page, 'Part7-part7Aggregate')
        const aggregate = page.locator('#operations-Part7-part7Aggregate')
        await beginTrying(aggregate)
        await aggregate.locator('.filter-line button').getByText('having.count').click()
        await aggregate.locator('tr[data-param-name="having.count.in"]').waitFor()
        expect({ errors, warnings, strangers }).toEqual({ errors: [], warnings: [], strangers: [] })
      }),
    time,
  )

  it.each(displays)(
    'has no serious accessibility problem, %s and %i pixels wide',
    (colorScheme, width) =>
      withPage(app.url, async ({ page }) => {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize({ width, height: 844 })
        const examine = async (view: string): Promise<void> => {
          expect({ view, found: await seriousProblems(page) }).toEqual({ view, found: [] })
        }
        await page.goto(`${app.url}/swagger`)
        const isDark = await page.evaluate(
          "document.documentElement.classList.contains('dark-mode')",
        )
        expect(isDark).toBe(colorScheme === 'dark')
        await open(page, 'items-itemShow')
        await examine('operation')
        await tryOut(page, 'items-itemShow', { id: '7' })
        await examine('response')
        await open(page, 'items-itemCreate')
        await examine('operation with a body')
        await page.locator('.btn.authorize').first().click()
        await page.locator('#auth-bearer-value').waitFor()
        await examine('authorize')
      }),
    time,
  )
})

/** The contents of both storages of the browser. */
const storedText =
  '[sessionStorage, localStorage].map((storage) => JSON.stringify(Object.fromEntries(Object.entries(storage))))'

/** Whether an element is within the visible part of the page, without scrolling. */
function isInView(element: Locator): Promise<boolean> {
  return element.evaluate((shown) => {
    const { top, bottom } = shown.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })
}

async function authorize(page: Page): Promise<void> {
  await page.locator('.btn.authorize').first().click()
  await page.fill('#auth-bearer-value', apiKey)
  await page.locator('.modal-btn.authorize').click()
  await page.locator('.btn-done').click()
}

async function open(page: Page, operation: string): Promise<void> {
  const block = page.locator(`#operations-${operation}`)
  await block.waitFor()
  if (!(await block.getAttribute('class'))?.includes('is-open')) {
    await block.locator('.opblock-summary-control').click()
  }
  await block.locator('.opblock-body').waitFor()
}

/** @returns the status that the page shows */
async function tryOut(
  page: Page,
  operation: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  await open(page, operation)
  const block = page.locator(`#operations-${operation}`)
  await beginTrying(block)
  for (const [name, value] of Object.entries(parameters)) {
    await block.locator(`tr[data-param-name="${name}"] input`).fill(value)
  }
  const response = await execute(page, block)
  const status = block.locator('.live-responses-table .response-col_status').last()
  await status.filter({ hasText: String(response.status()) }).waitFor()
  return String(response.status())
}

/** Clicks until the form appears, because clicks are lost while the page is rendered. */
async function beginTrying(block: Locator): Promise<void> {
  const start = block.locator('.try-out__btn:not(.cancel)')
  const form = block.locator('.execute')
  await start.or(form).first().waitFor()
  while (!(await form.isVisible())) {
    // The button disappears when the form appears.
    await start
      .first()
      .click({ timeout: 3000 })
      .catch(() => undefined)
    await form.waitFor({ timeout: 3000 }).catch(() => undefined)
  }
}

/** Clicks until a request is sent, because clicks are lost while the page still stores a parameter. */
async function execute(page: Page, block: Locator): Promise<Response> {
  for (;;) {
    const responded = page
      .waitForResponse((response) => !response.url().includes('/swagger'), { timeout: 6000 })
      .catch(() => undefined)
    await block.locator('.execute').click()
    const response = await responded
    if (response !== undefined) return response
  }
}

/** Without the errors that the browser reports for refused requests, which the tests expect. */
function notOf401(errors: readonly string[]): string[] {
  return errors.filter((text) => !text.includes('401 (Unauthorized)'))
}

@Controller('/uploads')
class UploadController {
  @Post('/')
  @NoAuth
  add(files: { photo: UploadedFile }) {
    return { size: files.photo.size }
  }
}

@Module({ controllers: [UploadController] })
class UploadModule {}

function evil(name: string): string {
  return (
    `</script><script>window.ran_${name} = 1</script>` +
    `<img src="x" onerror="window.ran_${name} = 1"><svg onload="window.ran_${name} = 1">` +
    `<a href="javascript:window.ran_${name} = 1">go</a>`
  )
}

class Hostile {
  @Field('string', { description: evil('field'), example: evil('example') }) name!: string
}

@Controller('/hostile')
@Doc({ tags: ['hostile'] })
class HostileController {
  @Get('/', { returns: Hostile })
  @Doc({
    summary: evil('summary'),
    description: evil('description'),
    exampleResponse: { name: evil('sample') },
    responses: { 404: evil('answer') },
  })
  show() {
    return { name: 'none' }
  }
}

@Module({ controllers: [HostileController] })
class HostileModule {}
