"""Reads a file with VTK's own reader of VTKHDF, as ParaView does: all frames of an array into found.npy, the places
(x, y, z) of its points into points.npy, the rest as JSON."""
import json
import sys

import numpy
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader

name, array = sys.argv[1:]
reader = vtkHDFReader()
reader.SetFileName(name)
reader.UpdateInformation()
times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
steps, frames = reader.GetNumberOfSteps(), []
for step in range(max(steps, 1)):
    reader.SetStep(step)
    reader.Update()
    image = reader.GetOutput()
    frames.append(vtk_to_numpy(image.GetPointData().GetArray(array)).copy())
numpy.save("found.npy", numpy.array(frames))
copy = vtkImageData()
copy.ShallowCopy(image)  # as filters and ParaView do: VTK 9.3 sets the axes' directions behind the back of `image`
numpy.save("points.npy", numpy.array([copy.GetPoint(i) for i in range(copy.GetNumberOfPoints())]))
print(json.dumps({"dimensions": image.GetDimensions(), "origin": image.GetOrigin(), "spacing": image.GetSpacing(),
                  "steps": steps, "times": times}))
