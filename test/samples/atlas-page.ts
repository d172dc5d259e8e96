/** Starts the atlas with its page, and helpers for actions of visitors. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { bootstrap, type Application } from 'filigree'
import type { Page } from 'playwright-core'
import { AtlasModule } from '../../samples/atlas/app.js'
import { pageOptions } from '../../samples/atlas/page.js'
import { PictureFolder } from '../../samples/atlas/pictures.js'
import { withPage } from '../browser/open-page.js'

export interface AtlasPage {
  readonly app: Application
  /** Opens the page. Policy violations, script errors and requests to other origins fail the test. */
  readonly visit: (use: (page: Page) => Promise<void>) => Promise<void>
  readonly close: () => Promise<void>
}

/** Starts the atlas with all cities in memory, on a free port of 127.0.0.1. */
export async function startAtlasPage(): Promise<AtlasPage> {
  const pictures = mkdtempSync(join(tmpdir(), 'filigree-pictures-'))
  const app = await bootstrap(AtlasModule, {
    ...pageOptions,
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    database: 'sqlite::memory:',
    // Every secured response has a fresh token, so that no test has to wait for one.
    auth: { rotate: 'always' },
    override: [[PictureFolder, new PictureFolder(pictures)]],
  })
  return {
    app,
    visit: (use) => visit(app, use),
    close: async () => {
      await app.close()
      rmSync(pictures, { recursive: true, force: true })
    },
  }
}

async function visit(app: Application, use: (page: Page) => Promise<void>): Promise<void> {
  await withPage(app.url, async ({ page, errors, strangers }) => {
    await page.goto(app.url)
    await page.locator('#in option').nth(250).waitFor({ state: 'attached' })
    await use(page)
    // Chromium's messages about responses with 400 and above.
    const otherErrors = errors.filter((message) => !message.startsWith('Failed to load resource'))
    expect({ otherErrors, strangers }).toEqual({ otherErrors: [], strangers: [] })
  })
}

export const searchBox = (page: Page) => page.getByLabel('Find a city')
export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
export const rows = (page: Page) => page.locator('#cities b').allTextContents()

export async function search(page: Page, text: string, summary: RegExp): Promise<void> {
  await searchBox(page).fill(text)
  await page.locator('#summary', { hasText: summary }).waitFor()
}

export async function login(page: Page, name = 'ada', password = 'analytical'): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Log in').click()
}

export async function enter(page: Page): Promise<void> {
  await login(page)
  await page.getByRole('heading', { name: 'Logged in as ada' }).waitFor()
}

export const isFocused = (element: Element): boolean => element === document.activeElement
