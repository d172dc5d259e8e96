/**
 * The language of the page and its texts. This is English, for tests. The server sends a module of the same form in its place, with
 * the language that it has chosen for the browser.
 */
import { english, type AdminTexts } from '../../src/modules/admin/texts/english.js'

export const language: string = 'en'
export const texts: AdminTexts = english
