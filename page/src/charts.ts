/** The parts of ECharts the page uses; importing them one by one keeps the rest out of the bundle. */

import { CustomChart, CustomSeriesOption } from "echarts/charts";
import { GridComponent, GridComponentOption, TooltipComponent, TooltipComponentOption } from "echarts/components";
import { ComposeOption, ECharts, init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

import { FONT_FAMILY, theme } from "./theme";

use([CustomChart, GridComponent, TooltipComponent, CanvasRenderer]);

/** A tooltip in the page's colours that says what `describe` returns; elements only, so names cannot become markup. */
export function tooltip(describe: (dataIndex: number) => HTMLElement): TooltipComponentOption {
  const { surface, text, faint } = theme();
  return {
    confine: true,
    transitionDuration: 0,
    backgroundColor: surface,
    borderColor: faint,
    textStyle: { color: text, fontFamily: FONT_FAMILY },
    formatter: (params) => describe((params as { dataIndex: number }).dataIndex),
  };
}

export type ChartOption = ComposeOption<CustomSeriesOption | GridComponentOption | TooltipComponentOption>;
export type RenderItem = NonNullable<CustomSeriesOption["renderItem"]>;
export type { ECharts };

/** A chart that follows the width of its element. */
export function makeChart(host: HTMLElement, onResize: () => void): ECharts {
  const chart = init(host, null, { renderer: "canvas" });
  new ResizeObserver(() => {
    if (host.clientWidth === 0 || (host.clientWidth === chart.getWidth() && host.clientHeight === chart.getHeight())) return;
    chart.resize();
    onResize();
  }).observe(host);
  return chart;
}
