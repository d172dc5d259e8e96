/** Questions and forms over the page: focus stays inside, Escape closes, and it returns to where it was. */
import { el, newId, put, type Child, hush } from './element.js'

export interface OpenDialog {
  readonly body: HTMLElement
  readonly close: () => void
}

/** @param whenClosed called however it ends */
export function openDialog(
  title: string,
  make: (dialog: OpenDialog) => Child[],
  whenClosed: () => void = () => undefined,
): OpenDialog {
  const id = newId()
  const before = document.activeElement
  const body = el('div', { class: 'dialog-body' })
  const dialog = el(
    'dialog',
    { 'aria-labelledby': id },
    el('h2', { id }, title),
    el('div', { class: 'notices' }),
    body,
  )
  const end = (): void => {
    if (!dialog.isConnected) return
    dialog.remove()
    if (before instanceof HTMLElement && before.isConnected) before.focus()
    whenClosed()
  }
  const opened = {
    body,
    close: () => {
      dialog.close()
      // Not when the browser tells of it, a moment later: until then a second question would get this one's answer.
      end()
    },
  }
  dialog.addEventListener('close', end)
  put(body, ...make(opened))
  hush()
  document.body.append(dialog)
  dialog.showModal()
  const first = body.querySelector<HTMLElement>(
    '[data-first], input:not([type=hidden]), select, textarea',
  )
  ;(first ?? body.querySelector('button'))?.focus()
  return opened
}

export interface Question {
  readonly title: string
  readonly words: readonly Child[]
  /** What the button says: `Delete`. */
  readonly yes: string
  readonly isGrave?: boolean
}

/** @returns false for Cancel, Escape, and a click elsewhere */
export function confirm({ title, words, yes, isGrave }: Question): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = false
    openDialog(
      title,
      ({ close }) => [
        ...words,
        buttons(
          el(
            'button',
            {
              type: 'button',
              class: isGrave === true ? 'grave' : 'main',
              onclick: () => {
                answer = true
                close()
              },
            },
            yes,
          ),
          cancel(close, isGrave),
        ),
      ],
      () => {
        resolve(answer)
      },
    )
  })
}

export const buttons = (...children: Child[]): HTMLElement =>
  el('div', { class: 'buttons' }, ...children)

export const cancel = (close: () => void, isFirst = false): HTMLElement =>
  el('button', { type: 'button', onclick: close, 'data-first': isFirst }, 'Cancel')
