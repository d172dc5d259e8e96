/** The atlas's page in two windows of Chromium: one shows the changes of the other. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { button, enter, rows, search, startAtlasPage, type AtlasPage } from './atlas-page.js'

let atlas: AtlasPage
beforeAll(async () => {
  atlas = await startAtlasPage()
})
afterAll(() => atlas.close())

describe('the list of cities', () => {
  it('shows the changes of another window', () =>
    atlas.visit((reader) =>
      atlas.visit(async (writer) => {
        await search(reader, 'profborg', /^No city/)
        await enter(writer)
        await writer.getByLabel('City', { exact: true }).fill('Prófborg')
        await writer.getByLabel('Latitude').fill('64.2')
        await writer.getByLabel('Longitude').fill('-21.7')
        await writer.getByLabel('Country', { exact: true }).selectOption({ label: 'Iceland' })
        await button(writer, 'Add').click()
        await reader.locator('#summary', { hasText: '1 city, changed just now.' }).waitFor()
        expect(await rows(reader)).toEqual(['Prófborg'])
        await search(writer, 'profborg', /^1 city/)
        await writer.locator('#cities button').click()
        await writer.getByLabel('City', { exact: true }).fill('Prófborgin')
        await button(writer, 'Save').click()
        await reader.locator('#cities b', { hasText: 'Prófborgin' }).waitFor()
      }),
    ))
})
