/** The views of the admin page in docs/admin.md. Some start where the previous one ends. */
import type { Repository } from 'filigree'
import type { Page } from 'playwright-core'
import type { Ticket } from '../admin/desk.js'

export interface Stage {
  readonly page: Page
  readonly url: string
  /** The token of another user, who changes rows meanwhile. */
  readonly tickets: Repository<Ticket>
  readonly isPhone: boolean
}

export interface AdminView {
  readonly show: (stage: Stage) => Promise<unknown>
  /** The size of the window. */
  readonly height?: number
  /** Whether the view is for users who are not signed in. */
  readonly isPublic?: boolean
}

export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/admin`)
  await page.getByLabel('Name').fill('ann')
  await page.getByLabel('Password').fill('right')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

const choose = (page: Page, name: string): Promise<void> =>
  page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check()

const toRow = async ({ page, url }: Stage, path: string): Promise<void> => {
  await page.goto(`${url}/admin/${path}`)
  await page.locator('form .buttons').waitFor()
}

const toList = async ({ page, url }: Stage, path: string): Promise<void> => {
  await page.goto(`${url}/admin/${path}`)
  await page.locator('tbody tr, .empty:not([hidden])').first().waitFor()
}

/** Scrolls the element to the middle of the window. */
const toMiddle = (page: Page, selector: string): Promise<unknown> =>
  page.evaluate(`document.querySelector('${selector}').scrollIntoView({ block: 'center' })`)

export const adminViews: Readonly<Record<string, AdminView>> = {
  'sign-in': {
    isPublic: true,
    show: async ({ page, url }) => {
      await page.goto(`${url}/admin`)
      await page.getByLabel('Name').fill('ann')
      await page.getByLabel('Password').fill('wrong')
      await press(page, 'Sign in')
      await page.getByRole('alert').waitFor()
    },
  },
  records: {
    show: async ({ page, url, isPhone }) => {
      await page.goto(`${url}/admin`)
      await page.getByRole('heading', { name: 'Records' }).waitFor()
      if (isPhone) await press(page, 'Menu')
    },
  },
  list: {
    show: async (stage) => {
      await toList(stage, 'tickets?orderBy=-priority')
      await choose(stage.page, 'Badge is not read')
      await choose(stage.page, 'Printer prints upside down')
    },
  },
  search: {
    height: 900,
    show: async (stage) => {
      const { page } = stage
      await toList(stage, 'tickets?status=open&priority.gte=1')
      await page.getByRole('searchbox').fill('again')
      await page.getByText(/^\d tickets$/).waitFor()
      await press(page, 'Filter')
      await page.getByRole('form', { name: 'Filter' }).waitFor()
    },
  },
  columns: {
    show: async (stage) => {
      await toList(stage, 'tickets')
      await press(stage.page, 'Columns')
      await stage.page.getByLabel('Hours').check()
      await stage.page.getByRole('columnheader', { name: 'Hours' }).waitFor()
    },
  },
  empty: {
    show: (stage) => toList(stage, 'tickets?status=closed&search=nowhere'),
  },
  live: {
    show: async (stage) => {
      const { page, tickets } = stage
      await page.evaluate('localStorage.clear()')
      await toList(stage, 'tickets')
      // The list follows changes from the moment when its event stream is open.
      await page.waitForTimeout(500)
      await tickets.update(3, { subject: 'Table is too low for two', status: 'closed' })
      await tickets.update(5, { subject: 'Printer prints backwards' })
      await page.getByText('Printer prints backwards').waitFor()
    },
  },
  form: {
    height: 1250,
    show: async (stage) => {
      await toRow(stage, 'tickets/1')
      await stage.page.getByLabel('Urgent').focus()
    },
  },
  errors: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/new')
      await page.getByLabel('Priority').fill('12')
      await page.getByLabel('Subject').fill('x')
      await press(page, 'Save')
    },
  },
  picker: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/4')
      await page.getByRole('combobox', { name: 'Org' }).click()
      await page.keyboard.press('Control+A')
      await page.keyboard.type('v')
      await page.getByRole('option', { name: 'Vela Maritime' }).waitFor()
    },
  },
  create: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/4')
      await press(page, 'New org')
      await page.getByRole('dialog').getByLabel('Name').fill('Fjord Telegraph')
    },
  },
  links: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/4')
      await page.getByRole('combobox', { name: 'Labels' }).click()
      await page.getByRole('option', { name: 'hardware' }).click()
      await toMiddle(page, '.chosen')
      await page.getByRole('combobox', { name: 'Labels' }).click()
      await page.locator('[role=option]').first().waitFor()
    },
  },
  nested: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/1')
      await press(page, 'Add comment')
      await page.getByRole('group', { name: 'New comment' }).getByLabel('Text').fill('It is here.')
      await toMiddle(page, '.part:last-child')
    },
  },
  upload: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/1')
      const file = { name: 'lamp.jpg', mimeType: 'image/jpeg', buffer: Buffer.alloc(48_000) }
      await page.getByLabel('Picture', { exact: true }).setInputFiles(file)
      await page.getByText('lamp.jpg,').waitFor()
      await toMiddle(page, '[type=file]')
      await page.getByLabel('Picture', { exact: true }).focus()
    },
  },
  row: {
    show: async (stage) => {
      await toRow(stage, 'orgs/2')
      await stage.page.getByRole('link', { name: 'Switch of floor 3' }).first().waitFor()
    },
  },
  'read-only': {
    show: async ({ page, url }) => {
      await page.goto(`${url}/admin/plans/1`)
      await page.getByRole('link', { name: 'BH-7' }).waitFor()
    },
  },
  'edit-many': {
    height: 1000,
    show: async (stage) => {
      const { page } = stage
      await toList(stage, 'tickets')
      for (const name of ['Chair squeaks', 'Table is too low for two', 'No network on floor 3'])
        await choose(page, name)
      await press(page, 'Edit selected')
      await page.getByRole('dialog').getByLabel('Status').selectOption('waiting')
      await page.getByLabel('Make empty: Due').check()
    },
  },
  'delete-many': {
    show: async (stage) => {
      await toList(stage, 'tickets')
      await stage.page.getByLabel('Select all').check()
      await press(stage.page, 'Delete selected')
    },
  },
  action: {
    show: async (stage) => {
      await toRow(stage, 'tickets/6')
      await press(stage.page, 'Close')
      await stage.page.getByRole('dialog').getByLabel('Reason').fill('It is warm again.')
    },
  },
  leaving: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/7')
      await page.getByLabel('Subject').fill('Fire door does not close at all')
      await page.getByRole('link', { name: 'Tickets' }).last().click()
      await page.getByRole('dialog').waitFor()
    },
  },
  conflict: {
    show: async (stage) => {
      const { page, tickets } = stage
      await page.getByRole('button', { name: 'Leave' }).click()
      await toRow(stage, 'tickets/2')
      await page.getByLabel('Subject').fill('Chair squeaks when one leans back')
      await page.getByLabel('Status').selectOption('closed')
      await tickets.update(2, { subject: 'Chair of the hall squeaks', status: 'open' })
      await press(page, 'Save')
      await page.getByRole('region', { name: /^Conflict/ }).waitFor()
      await page.getByRole('radio', { name: /^Theirs Chair/ }).check()
    },
  },
  history: {
    show: async (stage) => {
      const { page } = stage
      await press(page, 'Save')
      await page.getByRole('status').filter({ hasText: 'was saved' }).waitFor()
      await press(page, 'History')
      await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
    },
  },
  'history-of-all': {
    show: async ({ page, url, tickets }) => {
      await tickets.delete(30)
      await page.goto(`${url}/admin/tickets/history`)
      await page.getByText('Deleted Invoice').waitFor()
    },
  },
  again: {
    show: async (stage) => {
      const { page } = stage
      await toRow(stage, 'tickets/8')
      await page.getByLabel('Subject').fill('Badge is not read at the gate')
      await page.context().clearCookies()
      await press(page, 'Save')
      await page.getByRole('dialog').getByLabel('Name').fill('ann')
    },
  },
  chart: {
    show: async ({ page, url }) => {
      await page.getByLabel('Password').fill('right')
      await press(page, 'Sign in')
      await page.getByRole('status').filter({ hasText: 'was saved' }).waitFor()
      await page.goto(`${url}/admin/tickets/figures`)
      await page.getByRole('img').waitFor()
    },
  },
  import: {
    show: async ({ page, url }) => {
      await page.goto(`${url}/admin/tickets/import`)
      const text =
        'subject,orgId,status,priority\r\nBlinds hang askew,1,open,2\r\nx,1,shut,3\r\nTap drips,1,open,many\r\n'
      const file = { name: 'tickets.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
      await page.getByLabel('CSV file').setInputFiles(file)
      await press(page, 'Check')
      await page.getByRole('row').nth(1).waitFor()
    },
  },
  export: {
    show: async (stage) => {
      await toList(stage, 'tickets?status=waiting')
      await stage.page.getByRole('heading', { level: 1 }).focus()
      for (let presses = 0; presses < 2; presses++) await stage.page.keyboard.press('Tab')
    },
  },
}
