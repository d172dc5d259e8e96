/** Pages of errors in a real browser: without faults of access, in light, in the dark and on a phone. */
import { expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Get, Module, NoAuth, Post } from 'filigree'
import { expectAccessible, forEachDisplay } from './accessibility.js'
import { withPage } from './open-page.js'

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

it('pages of errors have no faults of access', async () => {
  const options = {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: { NODE_ENV: 'development' },
  } as const
  await using app = await bootstrap(AppModule, options)
  await withPage(app.url, async ({ page, errors, strangers }) => {
    await forEachDisplay(page, async (display) => {
      for (const path of ['/ordres', '/orders/broken', `/${'long'.repeat(40)}`]) {
        await page.goto(app.url + path)
        await expectAccessible(page, `${path}, ${display}`)
      }
    })
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
