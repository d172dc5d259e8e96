/** Pages of errors in a real browser: without faults of access, in light, in the dark and on a phone. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Get, Module, NoAuth, Post } from 'filigree'
import { withPage } from './open-page.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

class Order {
  @Field('string', { maxLength: 4 }) name!: string
  @Field('integer', { min: 1 }) amount!: number
}

@Controller('/orders')
class Orders {
  @Get('/') list(): object {
    return []
  }
  @Get('/broken') broken(): object {
    throw new Error('broken')
  }
  @Post('/', { body: Order }) @NoAuth create(body: Order): object {
    return body
  }
}
@Module({ controllers: [Orders] })
class AppModule {}

interface Axe {
  run(): Promise<{ violations: readonly { id: string; nodes: readonly { html: string }[] }[] }>
}

it('pages of errors have no faults of access', async () => {
  const options = {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: { NODE_ENV: 'development' },
  } as const
  await using app = await bootstrap(AppModule, options)
  await withPage(app.url, async ({ page, errors, strangers }) => {
    const check = async (place: string): Promise<void> => {
      await page.evaluate(axe)
      const violations = await page.evaluate(async () => {
        const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run()
        return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)
      })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect({ place, violations, wide: wide > 0 }).toEqual({ place, violations: [], wide: false })
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 740 })
        for (const path of ['/ordres', '/orders/broken', `/${'long'.repeat(40)}`]) {
          await page.goto(app.url + path)
          await check(`${colorScheme} ${width} ${path}`)
        }
      }
    }
    // The look comes from the style, which the policy allows.
    expect(await page.evaluate(() => getComputedStyle(document.body).marginTop)).toBe('0px')
    // A person goes from the wrong address to the right one by keyboard.
    await page.goto(`${app.url}/ordres`)
    expect(await page.title()).toBe('Page not found (404)')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${app.url}/orders`)
    // A form that was sent without a script.
    await page.setContent(
      `<form method="post" action="${app.url}/orders"><input name="name" value="ladder"><input name="amount" value="0"><button>Send</button></form>`,
    )
    await page.click('button')
    await page.waitForSelector('h1')
    expect(await page.locator('li').count()).toBe(2)
    const unexpected = errors.filter((text) => !/status of (?:4|5)\d\d/.test(text))
    expect({ unexpected, strangers }).toEqual({ unexpected: [], strangers: [] })
  })
})
