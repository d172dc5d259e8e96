/** Components of the application on the admin page, in a real Chromium: the recipe with a map, and components that fail. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  type Application,
  type Reply,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import type { Page } from 'playwright-core'
import { root } from '../repository/source-files.js'
import { findProblems } from './accessibility.js'
import { buttonOf, signInAs, statusOf, visitAdmin } from './admin-visit.js'

class Credentials {
  @Field('string') name!: string
  @Field('string') password!: string
}

@Controller('/login')
class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post({ body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    return reply({}).freshToken(await this.auth.getToken({ sub: body.name, roles: ['admin'] }))
  }
}

@Record({ writes: 'admin' })
@Admin({
  list: ['name', 'position', 'note'],
  fields: {
    position: { cell: '/map-cell.js', input: '/map-input.js' },
    note: { cell: '/broken.js', input: '/missing.js' },
  },
})
class Sensor {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { pattern: /^\d{1,2},\d{1,2}$/ }) position!: string
  @Field('string', { nullable: true, optional: true }) note?: string | null
}

@Controller('/sensors', { crud: Sensor })
class Sensors {}

/** The scripts of the recipe, and one that fails. */
function writeScripts(folder: string): void {
  const recipe = readFileSync(join(root, 'docs/recipes/admin-map.md'), 'utf8')
  const blocks = [...recipe.matchAll(/```js\n\/\/ web\/(\S+)\n(.*?)```/gs)]
  expect(blocks).toHaveLength(4)
  for (const [, name = '', text = ''] of blocks) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'broken.js'), "export default () => { throw new Error('No luck.') }")
}

let app: Application
const folder = mkdtempSync(join(tmpdir(), 'filigree-components-'))
beforeAll(async () => {
  writeScripts(folder)
  @Module({
    controllers: [Login, Sensors],
    imports: [
      admin({
        ...{ path: '/admin', roles: 'admin', records: [Sensor], login: { path: '/login' } },
        pages: [
          { path: 'map', title: 'Map', script: '/admin-map.js' },
          { path: 'plans', title: 'Plans of the boss', script: '/admin-map.js', roles: 'boss' },
        ],
      }),
    ],
  })
  class App {}
  app = await bootstrap(App, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {}, auth: { cookie: true } },
    ...{ database: 'sqlite::memory:', static: { '/': { folder } } },
  })
  await app.get(Database).records(Sensor).create({ name: 'Door', position: '20,30', note: 'x' })
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

const visit = (path: string, use: (page: Page) => Promise<void>): Promise<void> =>
  visitAdmin(app, async (page) => {
    await signInAs(page, app, 'ann', path)
    await use(page)
  })

describe('components of the application', () => {
  it('draw the cell of a list, and one that fails says so in its place', () =>
    visit('/admin/sensors', async (page) => {
      await page.getByRole('img', { name: 'Plan: Door at 20,30' }).waitFor()
      await page.getByRole('cell').getByText('/broken.js failed: No luck.').waitFor()
      expect(await findProblems(page)).toEqual([])
    }))

  it('edit a field by a click and by keyboard, under the rules of the field', () =>
    visit('/admin/sensors/1', async (page) => {
      const plan = page.getByRole('img', { name: /^Plan/ })
      await page.getByText('/missing.js failed:').waitFor()
      await plan.click({ position: { x: 160, y: 80 } })
      await page.getByRole('img', { name: 'Plan: Sensor at 50,25' }).waitFor()
      await buttonOf(page, 'Save').click()
      await statusOf(page, '“Door” was saved')
      const stored = () => app.get(Database).records(Sensor).find(1)
      expect(await stored()).toMatchObject({ position: '50,25', note: 'x' })
      const box = page.getByRole('group', { name: 'Position' }).getByRole('textbox')
      await box.fill('nowhere')
      await box.press('Tab')
      await buttonOf(page, 'Save').click()
      await page.getByRole('alert').filter({ hasText: 'Position must match' }).waitFor()
      expect(await findProblems(page)).toEqual([])
      await box.fill('7,8')
      await box.press('Tab')
      await buttonOf(page, 'Save').click()
      await statusOf(page, '“Door” was saved')
      expect(await stored()).toMatchObject({ position: '7,8' })
    }))

  it('make a page beside the records, for its roles', () =>
    visit('/admin', async (page) => {
      const menu = page.getByRole('navigation')
      expect(await menu.getByRole('link', { name: 'Plans of the boss' }).count()).toBe(0)
      await menu.getByRole('link', { name: 'Map' }).click()
      await page.getByRole('heading', { level: 1, name: 'Map' }).waitFor()
      await page.getByRole('img', { name: /^Plan: Door at/ }).waitFor()
      expect(await menu.getByRole('link', { name: 'Map' }).getAttribute('aria-current')).toBe(
        'page',
      )
      expect(await findProblems(page)).toEqual([])
    }))
})
