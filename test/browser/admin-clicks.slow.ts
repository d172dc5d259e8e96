/**
 * Eight everyday tasks on the admin page, by mouse. The number of clicks of each is at most the one of Django's admin. Typing is not
 * a click.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database, type Application } from 'filigree'
import type { Locator, Page } from 'playwright-core'
import { Ticket } from '../admin/desk.js'
import { startDesk } from './admin-desk.js'
import { signInAs, statusOf, visitAdmin } from './admin-visit.js'

let app: Application
beforeAll(async () => {
  app = await startDesk()
  await tickets().insertMany(
    (function* () {
      for (let index = 1; index <= 50; index++) yield { subject: `Bulk ${index}`, orgId: 1 }
      for (let index = 1; index <= 1100; index++)
        yield { subject: `Request ${index}`, orgId: (index % 5) + 1, priority: index % 10 }
    })(),
  )
})
afterAll(() => app.close())

const tickets = () => app.get(Database).records(Ticket)

/** What a task may use. */
interface Mouse {
  readonly page: Page
  readonly click: (target: Locator) => Promise<void>
  /** Chooses an option: one click opens the list, and one chooses. */
  readonly select: (target: Locator, option: string) => Promise<void>
}

interface Task {
  readonly name: string
  /** Clicks in Django's admin. */
  readonly django: number
  /** The view where the task begins. */
  readonly path: string
  readonly run: (mouse: Mouse) => Promise<void>
}

const link = (page: Page | Locator, name: string | RegExp): Locator =>
  page.getByRole('link', { name, exact: typeof name === 'string' })
const button = (page: Page | Locator, name: string | RegExp): Locator =>
  page.getByRole('button', { name, exact: typeof name === 'string' })

const tasks: readonly Task[] = [
  {
    name: 'find a row and open it',
    django: 4,
    path: '',
    run: async ({ page, click }) => {
      await click(link(page.getByRole('navigation'), 'Tickets'))
      await page.getByRole('searchbox', { name: 'Search tickets' }).fill('Request 777')
      await click(link(page, 'Request 777'))
      await page.getByRole('heading', { level: 1, name: 'Request 777' }).waitFor()
    },
  },
  {
    name: 'change a status',
    django: 5,
    path: 'tickets',
    run: async ({ page, click, select }) => {
      await click(link(page, 'Chair squeaks'))
      await select(page.getByLabel('Status'), 'closed')
      await click(button(page, 'Save'))
      await statusOf(page, 'Chair squeaks” was saved')
    },
  },
  {
    name: 'create a row with a relation',
    django: 6,
    path: 'tickets',
    run: async ({ page, click }) => {
      await click(link(page, 'New ticket'))
      await page.getByLabel('Subject').fill('A new request')
      await click(page.getByRole('combobox', { name: 'Org' }))
      await click(page.getByRole('option', { name: 'Kestrel Labs' }))
      await click(button(page, 'Save'))
      await statusOf(page, 'A new request” was created')
    },
  },
  {
    name: 'close 50 rows',
    django: 5,
    path: 'tickets?subject.startsWith=Bulk',
    run: async ({ page, click }) => {
      await click(page.getByLabel('Select all'))
      await click(button(page, 'Select all 50 that match'))
      await statusOf(page, '50 tickets selected')
      await click(button(page, 'Close'))
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Reason').fill('done')
      await click(button(dialog, 'Run'))
      await statusOf(page, 'Close: done for 50 tickets.')
    },
  },
  {
    name: 'close 1,000 rows',
    django: 5,
    path: 'tickets?status=open&subject.ilike=Request%25',
    run: async ({ page, click }) => {
      await click(page.getByLabel('Select all'))
      await click(button(page, /^Select all 1,100 that match/))
      await statusOf(page, '1,100 tickets selected')
      await click(button(page, 'Close'))
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Reason').fill('done')
      await click(button(dialog, 'Preview'))
      await click(button(dialog, 'Run 1,100 tickets'))
      await dialog.getByText('Close: done for 1,100 tickets.').waitFor()
      expect(await tickets().count({ status: 'closed', subject: { startsWith: 'Request' } })).toBe(
        1100,
      )
    },
  },
  {
    name: 'filter by three fields',
    django: 4,
    path: 'tickets',
    run: async ({ page, click }) => {
      await click(button(page, 'Filter'))
      const form = page.getByRole('form', { name: 'Filter' })
      await form.getByLabel('Subject').fill('again')
      await form.getByLabel('Priority from').fill('3')
      await form.getByLabel('Keywords').fill('office')
      await click(button(form, 'Apply'))
      await page.getByText('14 tickets', { exact: true }).waitFor()
    },
  },
  {
    name: 'filter by a choice',
    django: 2,
    path: 'tickets',
    run: async ({ page, click }) => {
      await click(page.getByText('Quick filters'))
      await click(link(page, 'Status: waiting'))
      await button(page, 'Remove Status: waiting').waitFor()
    },
  },
  {
    name: 'filter by three choices',
    django: 4,
    path: 'tickets',
    run: async ({ page, click }) => {
      await click(page.getByText('Quick filters'))
      await click(link(page, 'Status: open'))
      await click(link(page, 'Org: Kestrel Labs'))
      await click(link(page, 'Due: Not empty'))
      await page.getByText('1 ticket', { exact: true }).waitFor()
    },
  },
  {
    name: 'go from a ticket to its organisation',
    django: 3,
    path: 'tickets',
    run: async ({ page, click }) => {
      const row = page.getByRole('row').filter({ hasText: 'Table is too low' }).first()
      await click(link(row, 'Kestrel Labs'))
      await page.getByRole('heading', { level: 1, name: 'Kestrel Labs' }).waitFor()
    },
  },
  {
    name: 'see who changed a row',
    django: 3,
    path: 'tickets',
    run: async ({ page, click }) => {
      await click(link(page, 'Chair squeaks'))
      await click(button(page, 'History'))
      await page.getByRole('region', { name: 'History' }).getByText('ann').first().waitFor()
    },
  },
  {
    name: 'export',
    django: 4,
    path: 'tickets?subject.startsWith=Bulk',
    run: async ({ page, click }) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        click(link(page, 'Export CSV')),
      ])
      expect(
        readFileSync(await download.path(), 'utf8')
          .trimEnd()
          .split('\r\n'),
      ).toHaveLength(51)
    },
  },
]

describe('tasks on the admin page', () => {
  it.each(tasks)('$name: at most $django clicks', ({ name, django, path, run }) =>
    visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann', `/admin/${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      let clicks = 0
      const click = async (target: Locator): Promise<void> => {
        clicks++
        await target.click()
      }
      const select = async (target: Locator, option: string): Promise<void> => {
        clicks += 2
        await target.selectOption(option)
      }
      await run({ page, click, select })
      console.log(`${name}: ${clicks} clicks, Django ${django}`)
      expect(clicks).toBeLessThanOrEqual(django)
    }),
  )
})
