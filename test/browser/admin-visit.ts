/** What the suites of the admin page in a browser share: a visit, the sign-in, and the elements by their names. */
import { afterEach, beforeEach, expect } from '@jest/globals'
import { Database, type Application } from 'filigree'
import type { Locator, Page } from 'playwright-core'
import { startDesk } from './admin-desk.js'
import { withPage } from './open-page.js'

/** Fails if a script fails, breaks the policy or reaches for another origin. */
export async function visitAdmin(
  app: Application,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  await withPage(app.url, async ({ page, errors, strangers }) => {
    page.setDefaultTimeout(20_000)
    await use(page)
    // Chromium's own words about responses with 400 and more.
    const failures = errors.filter((message) => !message.startsWith('Failed to load resource'))
    expect({ failures, strangers }).toEqual({ failures: [], strangers: [] })
  })
}

export async function signInAs(
  page: Page,
  app: Application,
  name: string,
  path = '/admin',
): Promise<void> {
  await page.goto(app.url + path)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill('right')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Starts the help desk for each test. */
export function useDesk() {
  let app: Application
  beforeEach(async () => {
    app = await startDesk()
  })
  afterEach(() => app.close())
  return {
    get app() {
      return app
    },
    get database() {
      return app.get(Database)
    },
    visit: (use: (page: Page) => Promise<void>): Promise<void> => visitAdmin(app, use),
    signIn: (page: Page, name: string, path?: string): Promise<void> =>
      signInAs(page, app, name, path),
  }
}

export const buttonOf = (within: Page | Locator, name: string): Locator =>
  within.getByRole('button', { name, exact: true })

export const statusOf = (page: Page, words: string | RegExp): Promise<void> =>
  page.getByRole('status').filter({ hasText: words }).first().waitFor()

export const isFocused = (element: Element): boolean => element === document.activeElement
