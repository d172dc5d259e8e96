/** Modal dialogs. Focus stays inside and returns to its previous element. Escape closes the dialog. */
import { el, newId, put, type Child, clearNotices } from './element.js'

export interface OpenDialog {
  readonly body: HTMLElement
  readonly close: () => void
}

/** @param onClose called after every way of closing */
export function openDialog(
  title: string,
  make: (dialog: OpenDialog) => Child[],
  onClose: () => void = () => undefined,
): OpenDialog {
  const id = newId()
  const focused = document.activeElement
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
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    onClose()
  }
  const opened = {
    body,
    close: () => {
      dialog.close()
      // Do not wait for the asynchronous `close` event: a second dialog could open before it.
      end()
    },
  }
  dialog.addEventListener('close', end)
  put(body, ...make(opened))
  clearNotices()
  document.body.append(dialog)
  dialog.showModal()
  const first = body.querySelector<HTMLElement>(
    '[data-first], input:not([type=hidden]), select, textarea',
  )
  ;(first ?? body.querySelector('button'))?.focus()
  return opened
}

export interface ConfirmOptions {
  readonly title: string
  readonly content: readonly Child[]
  /** The text of the button: `Delete`. */
  readonly confirmLabel: string
  readonly isDangerous?: boolean
}

/** @returns false for Cancel, Escape, and a click elsewhere */
export function confirm({
  title,
  content: content,
  confirmLabel: confirmLabel,
  isDangerous: isDangerous,
}: ConfirmOptions): Promise<boolean> {
  return new Promise((resolve) => {
    let isConfirmed = false
    openDialog(
      title,
      ({ close }) => [
        ...content,
        buttons(
          el(
            'button',
            {
              type: 'button',
              class: isDangerous === true ? 'grave' : 'main',
              onclick: () => {
                isConfirmed = true
                close()
              },
            },
            confirmLabel,
          ),
          cancel(close, isDangerous),
        ),
      ],
      () => {
        resolve(isConfirmed)
      },
    )
  })
}

export const buttons = (...children: Child[]): HTMLElement =>
  el('div', { class: 'buttons' }, ...children)

export const cancel = (close: () => void, isFirst = false): HTMLElement =>
  el('button', { type: 'button', onclick: close, 'data-first': isFirst }, 'Cancel')
