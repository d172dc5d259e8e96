/** The title and the logo of the page, which the application chooses. */
import { el } from './element.js'

const { title = 'Admin', logo } = document.body.dataset

export const branding = { title, logo } as const

/** The logo, if there is one, and the title. */
export const brandNode = (): (Node | string)[] =>
  logo === undefined
    ? [el('span', { class: 'mark', 'aria-hidden': 'true' }), title]
    : [el('img', { src: logo, alt: '', class: 'logo' }), title]
