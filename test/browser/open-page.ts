/** Opens a page in a browser from an npm package, which can send requests to one origin only. */
import chromiumPackage from '@sparticuz/chromium'
import { chromium, type BrowserContextOptions, type Page } from 'playwright-core'

export interface Visit {
  readonly page: Page
  /** Errors of scripts and of the console, including refused requests and policy violations. */
  readonly errors: readonly string[]
  /** URLs of other origins that were requested. All of them were refused. */
  readonly strangers: readonly string[]
}

/** @param origin `http://127.0.0.1:PORT` */
export async function withPage<T>(
  origin: string,
  use: (visit: Visit) => Promise<T>,
  options: BrowserContextOptions = {},
): Promise<T> {
  const browser = await chromium.launch({
    executablePath: await chromiumPackage.executablePath(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
    const errors: string[] = []
    const strangers: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    await page.route('**', (route) => {
      const url = route.request().url()
      if (url.startsWith(`${origin}/`) || url.startsWith('data:')) return route.continue()
      strangers.push(url)
      return route.abort()
    })
    return await use({ page, errors, strangers })
  } finally {
    await browser.close()
  }
}
